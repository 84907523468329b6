package codec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// frames notes what reaches a decoder.
type frames struct{ got []string }

func (f *frames) Decode(frame codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	f.got = append(f.got, frame.Event+string(frame.Data))
	return nil, nil
}

func (f *frames) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	f.got = append(f.got, "end")
	return nil, nil
}

func TestJoinHalves(t *testing.T) {
	for name, c := range map[string]struct{ in, want []string }{
		"a letter":            {[]string{`{"a":"x\ud83d"}`, `{"a":"\ude00y"}`}, []string{`{"a":"x\ud83d\ude00"}`, `{"a":"y"}`}},
		"in capitals":         {[]string{`{"a":"\uD83D"}`, `{"a":"\uDE00"}`}, []string{`{"a":"\uD83D\uDE00"}`, `{"a":""}`}},
		"two letters":         {[]string{`{"a":"\ud83d"}`, `{"a":"\ude00\ud83d"}`, `{"a":"\ude01"}`}, []string{`{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude01"}`, `{"a":""}`}},
		"two strings":         {[]string{`{"a":"\ud83d","b":"\ud83e"}`, `{"a":"\ude00","b":"\udd70"}`}, []string{`{"a":"\ud83d\ude00","b":"\ud83e\udd70"}`, `{"a":"","b":""}`}},
		"the second alone":    {[]string{`{"a":"\ud83d","b":"\ud83e"}`, `{"b":"\udd70","a":"-"}`}, []string{`{"a":"\ud83d","b":"\ud83e\udd70"}`, `{"b":"","a":"-"}`}},
		"another string":      {[]string{`{"a":"\ud83d"}`, `{"b":"\ude00"}`}, []string{`{"a":"\ud83d"}`, `{"b":"\ude00"}`}},
		"another candidate":   {[]string{`{"index":0,"a":"\ud83d"}`, `{"a":"\ude00","index":1}`}, []string{`{"index":0,"a":"\ud83d"}`, `{"a":"\ude00","index":1}`}},
		"the same candidate":  {[]string{`{"index":1,"a":"\ud83d"}`, `{"a":"\ude00","index":1}`}, []string{`{"index":1,"a":"\ud83d\ude00"}`, `{"a":"","index":1}`}},
		"no second half":      {[]string{`{"a":"\ud83d"}`, `{"a":"y"}`}, []string{`{"a":"\ud83d"}`, `{"a":"y"}`}},
		"no first half":       {[]string{`{"a":"x"}`, `{"a":"\ude00"}`}, []string{`{"a":"x"}`, `{"a":"\ude00"}`}},
		"at the end":          {[]string{`{"a":"\ud83d"}`}, []string{`{"a":"\ud83d"}`}},
		"an escaped slash":    {[]string{`{"a":"\\ud83d"}`, `{"a":"\ude00"}`}, []string{`{"a":"\\ud83d"}`, `{"a":"\ude00"}`}},
		"behind one":          {[]string{`{"a":"\\\ud83d"}`, `{"a":"\ude00"}`}, []string{`{"a":"\\\ud83d\ude00"}`, `{"a":""}`}},
		"in a name":           {[]string{`{"\ud83d":1}`, `{"\ude00":1}`}, []string{`{"\ud83d":1}`, `{"\ude00":1}`}},
		"no JSON":             {[]string{`{"a":"\ud83d"`, `"\ude00"`}, []string{`{"a":"\ud83d"`, `"\ude00"`}},
		"garbage behind it":   {[]string{`{"a":"\ud83d"}`, `garbage`}, []string{`{"a":"\ud83d"}`, `garbage`}},
		"two bytes and two":   {[]string{"{\"a\":\"x\xf0\x9f\"}", "{\"a\":\"\x98\x80y\"}"}, []string{`{"a":"x😀"}`, `{"a":"y"}`}},
		"byte by byte":        {[]string{"{\"a\":\"\xf0\"}", "{\"a\":\"\x9f\"}", "{\"a\":\"\x98\"}", "{\"a\":\"\x80\"}", `{"a":"z"}`}, []string{`{"a":"😀"}`, `{"a":""}`, `{"a":""}`, `{"a":""}`, `{"a":"z"}`}},
		"two letters' bytes":  {[]string{"{\"a\":\"\xc3\"}", "{\"a\":\"\xa9\xe2\x82\"}", "{\"a\":\"\xac\"}"}, []string{`{"a":"é"}`, `{"a":"€"}`, `{"a":""}`}},
		"two strings' bytes":  {[]string{"{\"a\":\"\xc3\",\"b\":\"\xe2\x82\"}", "{\"a\":\"\xa9\",\"b\":\"\xac.\"}"}, []string{`{"a":"é","b":"€"}`, `{"a":"","b":"."}`}},
		"bytes and an escape": {[]string{"{\"a\":\"\xc3\",\"b\":\"\\ud83d\"}", "{\"a\":\"\xa9\",\"b\":\"\\ude00\"}"}, []string{`{"a":"é","b":"\ud83d\ude00"}`, `{"a":"","b":""}`}},
		"too many bytes":      {[]string{"{\"a\":\"\xc3\"}", "{\"a\":\"\xa9\xa9\"}"}, []string{`{"a":"é"}`, "{\"a\":\"\xa9\"}"}},
		"too few bytes":       {[]string{"{\"a\":\"\xf0\x9f\"}", "{\"a\":\"\x98y\"}"}, []string{"{\"a\":\"\xf0\x9f\x98\"}", `{"a":"y"}`}},
		"other bytes":         {[]string{"{\"a\":\"\xf0\x9f\"}", `{"a":"\ude00"}`}, []string{"{\"a\":\"\xf0\x9f\"}", `{"a":"\ude00"}`}},
		"bytes at the end":    {[]string{"{\"a\":\"\xf0\x9f\"}"}, []string{"{\"a\":\"\xf0\x9f\"}"}},
		"no first byte":       {[]string{"{\"a\":\"\x9f\"}", "{\"a\":\"\x98\x80\"}"}, []string{"{\"a\":\"\x9f\"}", "{\"a\":\"\x98\x80\"}"}},
		"text of a whole one": {[]string{`{"a":"\ud83d\ude00"}`, `{"a":"\u00e9"}`}, []string{`{"a":"\ud83d\ude00"}`, `{"a":"\u00e9"}`}},
	} {
		to := &frames{}
		d := codec.JoinHalves(to)
		for _, data := range c.in {
			buffer := []byte(data)
			if _, err := d.Decode(codec.Frame{Data: buffer}); err != nil {
				t.Fatal(err)
			}
			clear(buffer) // a frame's memory is the caller's again
		}
		if _, err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(to.got, "\n"), strings.Join(append(c.want, "end"), "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Whatever frames say, none is lost, and those that were JSON stay JSON.
func FuzzJoinHalves(f *testing.F) {
	f.Add(`{"a":"\ud83d"}`, `{"a":"\ude00"}`)
	f.Add(`["\ud83d","\ud83d"]`, `["\ude00","\ude00"]`)
	f.Add(`{"a":"\ud83d"`, ``)
	f.Add("{\"a\":\"\xf0\x9f\"}", "{\"a\":\"\x98\x80\"}")
	f.Add("[\"\xf0\",\"\xc3\"]", "[\"\x9f\",\"\xa9\"]")
	f.Add("\"\\ud83d\"\"\\ud83d\"", `"\ude00"`)
	f.Fuzz(func(t *testing.T, first, second string) {
		to := &frames{}
		d := codec.JoinHalves(to)
		_, _ = d.Decode(codec.Frame{Data: []byte(first)})
		_, _ = d.Decode(codec.Frame{Data: []byte(second)})
		_, _ = d.Close()
		if len(to.got) != 3 {
			t.Fatalf("got %q", to.got)
		}
		for i, in := range []string{first, second} {
			if json.Valid([]byte(in)) && !json.Valid([]byte(to.got[i])) {
				t.Errorf("%q became %q", in, to.got[i])
			}
		}
		if len(to.got[0])+len(to.got[1]) != len(first)+len(second) {
			t.Errorf("got %q", to.got)
		}
	})
}
