package member_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Names that are spelled oddly are the names they spell, and text.
func TestNativesOfOddNames(t *testing.T) {
	for extra, want := range map[string]string{
		`{"a":1,"b": null, "c" : {"d":[]} }`: `a=1 c={"d":[]} `,
		`{"\u0061":1,"b\n":2}`:               "a=1 b\n=2 ",
		"{\"a\xff\":1}":                      "a\uFFFD=1 ",
		`{"\ud800":"x"}`:                     "\uFFFD=\"x\" ",
		`{}`:                                 "",
	} {
		var got strings.Builder
		for _, f := range member.NativesBut(map[string]bool{"left out": true}, genwayv1.Protocol_PROTOCOL_MESSAGES, jsontext.Value(extra), nil) {
			got.WriteString(f.Name + "=" + string(f.Json) + " ")
		}
		if got.String() != want {
			t.Errorf("%q gives %q, not %q", extra, got.String(), want)
		}
	}
}
