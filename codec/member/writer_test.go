package member

import (
	"errors"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestMembers demands that nothing that is not JSON, and no name twice, is written.
func TestMembers(t *testing.T) {
	for name, tc := range map[string]struct{ object, want, at string }{
		"none":              {object: ``, want: `{"a":{"b":1}}`},
		"empty":             {object: ` { } `, want: `{"a":{"b":1}}`},
		"one":               {object: `{"c": [ 1, "\u00e9 x" ]}`, want: `{"a":{"b":1,"c":[1,"\u00e9 x"]}}`},
		"name with escapes": {object: `{"\u0063":1}`, want: `{"a":{"b":1,"\u0063":1}}`},
		"not UTF-8":         {object: "{\"c\xff\":\"\xff\"}", want: "{\"a\":{\"b\":1,\"c\xff\":\"\xff\"}}"},
		"there already":     {object: `{"c":1,"b":2}`, at: "/a/b"},
		"in disguise":       {object: `{"\u0062":2}`, at: "/a/b"},
		"twice":             {object: `{"c":1,"c":2}`, at: "/a/c"},
		"twice within":      {object: `{"c":[0,{"d":1,"d":2}]}`, at: "/a/c/1/d"},
		"no JSON":           {object: `{"c":}`, at: "/a/c"},
		"no object":         {object: `[1]`, at: "/a"},
		"more than one":     {object: `{"c":1},"x":1`, at: "/a"},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(0)
			w.Begin()
			w.Object("a")
			w.Int("b", 1)
			w.Members([]byte(tc.object))
			w.End()
			w.End()
			out, err := w.Finish()
			if tc.at == "" {
				if err != nil || string(out) != tc.want {
					t.Fatalf("%s %v", out, err)
				}
				return
			}
			syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
			if !ok || string(syntax.JSONPointer) != tc.at || out != nil {
				t.Fatalf("%#v %s", err, out)
			}
		})
	}
}

func TestMembersOfAnEmptyObject(t *testing.T) {
	for object, want := range map[string]string{`{}`: `[{}]`, `{ "a" : 1 }`: `[{"a":1}]`, ``: `[{}]`} {
		w := NewWriter(0)
		w.BeginList()
		w.Begin()
		w.Members([]byte(object))
		w.End()
		w.EndList()
		if out, err := w.Finish(); err != nil || string(out) != want {
			t.Errorf("%s: %s %v", object, out, err)
		}
	}
}

// TestFailuresSayWhere demands the place of what cannot be written.
func TestFailuresSayWhere(t *testing.T) {
	w := NewWriter(0)
	w.Begin()
	w.List("list")
	w.CompactValue([]byte(`{"x": 1}`))
	w.CompactValue([]byte(`{"x": [1,]}`))
	w.EndList()
	w.Float("f", math.NaN())
	w.End()
	_, err := w.Finish()
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || syntax.JSONPointer != "/list/1/x/1" {
		t.Fatalf("%#v", err)
	}
}

func FuzzAppendCompact(f *testing.F) {
	for _, s := range []string{` { "a" : [ 1.50 , "x \" y" ] , "b":{} } `, `"\ud800"`, "\"\xff\"", `{"a":1,"\u0061":2}`, `[1,]`, `1 2`, ``, ` `, `-0`, "[\n]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		want, werr := jsontext.AppendFormat(nil, value, compactOptions...)
		got, err := AppendCompact([]byte("x"), value)
		if (err == nil) != (werr == nil) || err == nil && string(got) != "x"+string(want) {
			t.Fatalf("%q\n got %q %v\nwant %q %v", value, got, err, want, werr)
		}
		if valid := jsontext.Value(value).IsValid(jsontext.AllowInvalidUTF8(true)); valid != Valid(value) {
			t.Fatalf("%q: %v", value, valid)
		}
	})
}
