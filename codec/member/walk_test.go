package member_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

func TestWalk(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:                         "",
		`{"a" : 1 , "b":[2,{}]}`:     `a=1 b=[2,{}]`,
		"{\"\\u0061\":\"x\\ty\"}":    `a="x\ty"`,
		`{"a":1,"b":tru}`:            "a=1 !",
		`{"a":1`:                     "a=1 !",
		`{"a":1,"a":2}`:              "a=1 !",
		`{"a":9223372036854775808}`:  "a=9223372036854775808",
		`{"stop":1,"b":2,"c":`:       "stop=1",
		`[1]`:                        "!",
		`null`:                       "!",
		``:                           "!",
		`{` + strings.Repeat(" ", 9): "!",
	} {
		var got []string
		err := member.Walk([]byte(object), func(name string, value jsontext.Value) bool {
			got = append(got, fmt.Sprintf("%s=%s", name, value))
			return name != "stop"
		})
		if err != nil {
			got = append(got, "!")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s (%v)", object, text, want, err)
		}
	}
}
