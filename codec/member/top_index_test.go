package member

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestHead(t *testing.T) {
	heavy := []string{"messages", "tools"}
	for _, c := range []struct{ body, want string }{
		{`{"model":"m","messages":[{"a":1},2],"n":1}`, `{"model":"m","messages":null,"n":1}`},
		{" {\n\"messages\" : [ 1 ] , \"tools\": [7]\n} \n", "{\n\"messages\" : null , \"tools\": null\n}"},
		{`{"messages":"text"}`, `{"messages":null}`},
		// These are decoded whole.
		{`{"messages":[]}`, ""}, {`{"messages":[ ]}`, ""}, {`{"messages":""}`, ""}, {`{"messages":{}}`, ""}, {`{"messages":null}`, ""},
		{`{"model":"m"}`, ""}, {`[1]`, ""}, {``, ""}, {`{"messages":[1]} x`, ""}, {`{"messages":[1],"messages":[1]}`, ""},
		{`{"messages":[{"a":1,"a":2}]}`, ""}, {`{"messages":[1],"tools":[}`, ""},
	} {
		var o TopIndex
		var got []byte
		ok := o.Read([]byte(c.body), nil)
		if ok {
			got, ok = o.Lightened(heavy)
		}
		if !ok {
			got = nil
		}
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.body, got, ok, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	for body, want := range map[string]int{
		`{"data":[]}`: 0, `{"data":[ ]}`: 0, `{"data":[1]}`: 1, ` {"x":[1,2,3],"data":[ {"a":[1,2]} , "b" ]}`: 2,
		`{"data":7}`: 0, `{"x":[1],"data":{"a":[1]}}`: 0, `{}`: 0, ``: 0, `[1]`: 0,
	} {
		var o TopIndex
		o.Read([]byte(body), nil)
		if got := o.Elements("data"); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1,"b":{"a":2}}`: "1", `{ "b" : [ {"a":2} ] , "a" : "x\\\"" }`: `"x\\\""`, `{"b":"a","c":{"a":1}}`: "", `{}`: "", ``: "", `[1]`: "",
		`{"\u0061":7}`: "7", `{"\u0062":7,"a":null}`: "null",
	} {
		if got := string(Value([]byte(body), "a")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// A member is set as by the decoder, whatever stands around it.
func TestSet(t *testing.T) {
	gap := rapid.SampledFrom([]string{"", " ", "\n\t"})
	value := rapid.SampledFrom([]string{`1`, `"x"`, `"}\\"`, `"\\\\"`, `{"a":[1,{"b":"]"}]}`, `[ "a" , {} ]`, `true`, `-1.5e3`, `null`, `[]`})
	rapid.Check(t, func(t *rapid.T) {
		body := gap.Draw(t, "gap") + "{" + gap.Draw(t, "gap")
		count := rapid.IntRange(0, 4).Draw(t, "count")
		for i, name := range []string{"a", "b", "c", "d"}[:count] {
			if i > 0 {
				body += "," + gap.Draw(t, "gap")
			}
			body += `"` + name + `"` + gap.Draw(t, "gap") + ":" + gap.Draw(t, "gap") + value.Draw(t, "value") + gap.Draw(t, "gap") //nolint:perfsprint // a handful
		}
		body += "}" + gap.Draw(t, "gap")
		m := Member{Name: rapid.SampledFrom([]string{"a", "b", "z"}).Draw(t, "name"), Value: jsontext.Value(value.Draw(t, "new"))}
		got, err := Patch([]byte(body), m)
		if err != nil {
			t.Fatal(err)
		}
		// Two members take the way of the decoder.
		want, err := Patch([]byte(body), m, Member{Name: "none"})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s with %s set to %s is %s, want %s, %v", body, m.Name, m.Value, got, want, err)
		}
		if !slices.Equal(Value(got, m.Name), m.Value) {
			t.Fatalf("%s has no %s", got, m.Name)
		}
	})
}

// What is no JSON after all ends the skimming, and never the process.
func FuzzSkim(f *testing.F) {
	f.Add([]byte(`{"a":{"b":["x\\"",1]},"data":[1,{},"]"]}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		Value(body, "a")
		_, _ = Patch(body, Member{Name: "a", Value: jsontext.Value("1")})
	})
}
