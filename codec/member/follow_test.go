package member_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// A change of one body is made on another, and nothing else in it moves.
func TestFollow(t *testing.T) {
	for _, c := range []struct{ name, body, before, after, want string }{
		{"replace", `{ "a" : 1.0 , "b":2}`, `{"a":1}`, `{"a":3}`, `{ "a" : 3 , "b":2}`},
		{"add", `{"x":0}`, `{}`, `{"a":3}`, `{"x":0,"a":3}`},
		{"remove", `{"a":1,"x":0}`, `{"a":1}`, `{}`, `{"x":0}`},
		{"remove what is not there", `{"x":0}`, `{"a":1}`, `{}`, `{"x":0}`},
		{"nothing", `{"a":1.00}`, `{"a":1}`, `{"a":1}`, `{"a":1.00}`},
		{"inside", `{"o": {"k" :1, "v":2}}`, `{"o":{"k":1}}`, `{"o":{"k":5}}`, `{"o": {"k" :5, "v":2}}`},
		{"inside an object left empty", `{"o":{"k":1}}`, `{"o":{"k":1}}`, `{}`, `{}`},
		{"inside an object with more", `{"o":{"k":1,"v":2}}`, `{"o":{"k":1}}`, `{}`, `{"o":{"v":2}}`},
		{"into an empty object", `{"o":{}}`, `{}`, `{"o":{"k":1}}`, `{"o":{"k":1}}`},
		{"in place of null", `{"o":null}`, `{}`, `{"o":{"k":1}}`, `{"o":{"k":1}}`},
		{"another spelling", `{"gen_config":{"top_p":1}}`, `{"genConfig":{"topP":1}}`, `{"genConfig":{"topP":0.5}}`, `{"gen_config":{"top_p":0.5}}`},
		{"one name for another", `{"max":1,"z":0}`, `{"max":1}`, `{"most":1}`, `{"z":0,"most":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			camel := func(name string) string {
				return strings.NewReplacer("_c", "C", "_p", "P").Replace(name)
			}
			got, err := member.Follow([]byte(c.body), []byte(c.before), []byte(c.after), camel)
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `[]`, `{"a":1`, `{"a"}`} {
		for i, args := range [][3]string{{bad, `{}`, `{"a":1}`}, {`{}`, bad, `{}`}, {`{}`, `{}`, bad}} {
			if _, err := member.Follow([]byte(args[0]), []byte(args[1]), []byte(args[2]), nil); err == nil {
				t.Errorf("%d: %q was taken", i, bad)
			}
		}
	}
}

// What follows a change from itself is what it was changed to.
func TestFollowItself(t *testing.T) {
	object := rapid.Custom(func(t *rapid.T) map[string]any { return drawObject(t, 2) })
	rapid.Check(t, func(t *rapid.T) {
		before, after := object.Draw(t, "before"), object.Draw(t, "after")
		got, err := member.Follow(spell(t, before), spell(t, before), spell(t, after), nil)
		if err != nil {
			t.Fatal(err)
		}
		canonical := jsontext.Value(got)
		if err := canonical.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		want := jsontext.Value(spell(t, after))
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if string(canonical) != string(want) {
			t.Fatalf("%s, want %s", canonical, want)
		}
	})
}

// drawObject returns an object of numbers, and of objects that are not empty: an object
// that is left empty goes.
func drawObject(t *rapid.T, deep int) map[string]any {
	o := map[string]any{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string]).Draw(t, "names") {
		o[name] = rapid.IntRange(0, 2).Draw(t, "number")
		if deep > 0 && rapid.Bool().Draw(t, "object") {
			if inner := drawObject(t, deep-1); len(inner) > 0 {
				o[name] = inner
			}
		}
	}
	return o
}

func spell(t *rapid.T, o map[string]any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Whatever the three are, following ends with an error or with an object.
func FuzzFollow(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":1}`), []byte(`{"a":{"b":2}}`))
	f.Add([]byte(` { "a" : {} , "b" : [1] } `), []byte(`{"b":[]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, body, before, after []byte) {
		for _, object := range [][]byte{body, before, after} {
			if !jsontext.Value(object).IsValid(member.Options()) {
				return
			}
		}
		out, err := member.Follow(body, before, after, nil)
		if err == nil && !jsontext.Value(out).IsValid(member.Options()) {
			t.Errorf("%q, from %q to %q: %q", body, before, after, out)
		}
	})
}
