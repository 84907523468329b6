package codec_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/codec"
	"pgregory.net/rapid"
)

func TestAreObject(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` {"a":[1,{"b":null}]} `: true, "{\"a\":\"\xff\"}": true,
		``: false, ` `: false, `null`: false, `[]`: false, `"{}"`: false, `7`: false, `{"a":1`: false, `{"a":1}{"a":1}`: false,
		`{"a":1} x`: false, `{"a":1,"a":1}`: false, `{"a":{"b":1,"b":1}}`: false, `{'a':1}`: false, `{"a":NaN}`: false,
	} {
		if got := codec.AreObject(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for text, want := range map[string]bool{"": true, " \r\n\t": true, //nolint:gocritic // white space is the point
		"{}": false, "\u00a0": false} {
		if got := codec.AreNone(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Text arguments are an object with the text in it, whatever it is.
func TestTextArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var got map[string]string
		out := codec.TextArguments(text)
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 || got["arguments_text"] != text || !codec.AreObject(out) {
			t.Fatalf("%q gave %s: %v", text, out, err)
		}
	})
	if out := codec.TextArguments("a\xffb"); !codec.AreObject(out) {
		t.Errorf("no UTF-8 gave %s", out)
	}
}
