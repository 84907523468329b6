package member_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/genway/genway/codec/member"
	"pgregory.net/rapid"
)

// edited drops what is called drop, replaces what is called twice, and drops elements that are null.
func edited(body string) string {
	return string(member.Edit([]byte(body), func(_ int, name, value []byte) member.Change {
		switch {
		case string(name) == "drop", name == nil && string(value) == "null":
			return member.Change{Drop: true}
		case string(name) == "twice":
			return member.Change{With: []byte(`"` + strings.Repeat("x", len(value)) + `"`)}
		}
		return member.Change{}
	}))
}

func TestEdit(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: `{}`, `[]`: `[]`, ` { } `: ` { } `, `1`: `1`, `"drop"`: `"drop"`, ``: ``, `{`: `{`, `{"drop"`: `{"drop"`, `{"a":1,}`: `{"a":1,}`, `{"drop":1`: `{"drop":1`,
		`{"drop":1}`:        `{}`,
		` {  "drop" : 1 } `: ` {   } `,
		`{"drop":1,"a":2}`:  `{"a":2}`,
		`{"a":1,"drop":2}`:  `{"a":1}`,
		"{\"a\" : 1 ,\n \"drop\": [ 2 ] , \"b\": 3}": `{"a" : 1 , "b": 3}`,
		`{"drop":1,"drop":2,"a":3,"drop":4}`:         `{"a":3}`,
		`[null,1,null, 2 ,null]`:                     `[1, 2]`,
		`[null]`:                                     `[]`,
		`[{"drop":"]}\""},{"a":{"drop":{}}}]`:        `[{},{"a":{}}]`,
		`{"twice":1,"a":{"twice":"\"","drop":0}}`:    `{"twice":"x","a":{"twice":"xxxx"}}`,
		`{"a":"drop","b":["null","drop"]}`:           `{"a":"drop","b":["null","drop"]}`,
	} {
		if got := edited(body); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	same := []byte(`{"a":[1,{"b":2}]}`)
	if got := member.Edit(same, func(int, []byte, []byte) member.Change { return member.Change{} }); &got[0] != &same[0] {
		t.Error("a text without a change is copied")
	}
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	if got := edited(deep); got != deep {
		t.Error("a deep text is changed")
	}
	seen := 0
	member.Edit([]byte(deep), func(_ int, _, value []byte) member.Change {
		seen += len(value)
		return member.Change{}
	})
	if seen > 32*len(deep) {
		t.Errorf("a text of %d bytes is read %d times", len(deep), seen/len(deep))
	}
}

// What is left is what decoding, changing and comparing find, at any depth and with any blanks.
func TestEditAsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawn(t, 4)
		text, err := json.MarshalIndent(value, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal([]byte(edited(string(text))), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want := changed(value); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %v, want %v", text, got, want)
		}
	})
}

// drawn is any JSON value without numbers.
func drawn(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1 || depth == 0:
		return rapid.SampledFrom([]string{"", "drop", "null", `a"\`, "{]", ","}).Draw(t, "text")
	case kind == 2:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			list = append(list, drawn(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		object[rapid.SampledFrom([]string{"drop", "keep", "other", `{"`}).Draw(t, "name")] = drawn(t, depth-1)
	}
	return object
}

// changed is what edited makes of a value.
func changed(value any) any {
	switch v := value.(type) {
	case []any:
		list := []any{}
		for _, element := range v {
			if element != nil {
				list = append(list, changed(element))
			}
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, inner := range v {
			if name != "drop" {
				object[name] = changed(inner)
			}
		}
		return object
	}
	return value
}
