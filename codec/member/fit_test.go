package member_test

import (
	"math"
	"testing"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

type fitting struct {
	N     int64          `json:"n"`
	Small *int32         `json:"small"`
	S     string         `json:"s"`
	In    *fitting       `json:"in"`
	List  []fitting      `json:"list"`
	Rest  jsontext.Value `json:",embed"`
}

func TestFit(t *testing.T) {
	var f fitting
	member.Fit([]byte(`{"n":10.0,"small":1e40,"s":7,"in":{"n":"x","s":"y","new":[1]},"list":[{"n":1e2},7,null,{"n":2,"n":3}],"a":1,"b":{"c":2}}`), &f)
	if f.N != 10 || f.Small != nil || f.S != "" || f.In == nil || f.In.N != 0 || f.In.S != "y" || string(f.In.Rest) != `{"new":[1]}` {
		t.Errorf("%+v", f)
	}
	if len(f.List) != 4 || f.List[0].N != 100 || f.List[3].N != 3 || string(f.Rest) != `{"a":1,"b":{"c":2}}` {
		t.Errorf("%+v", f)
	}
	for _, odd := range []string{``, `7`, `null`, `[]`, `"x"`, `{"n":`, `{"in":[]}`, `{"n":1.5}`, `{"n":"9223372036854775808"}`, `{"n":NaN}`} {
		var f fitting
		member.Fit([]byte(odd), &f)
		if f.N != 0 || f.In != nil {
			t.Errorf("%s gave %+v", odd, f)
		}
	}
}

// A count beyond all numbers is not none.
func TestFitOfLargeNumbers(t *testing.T) {
	for value, want := range map[string]int64{
		"9223372036854775807": math.MaxInt64, "9223372036854775808": math.MaxInt64, "-9223372036854775809": math.MinInt64, "9007199254740993": 9007199254740993,
		"1e40": math.MaxInt64, "-1e99": math.MinInt64, "1e999": math.MaxInt64, "-1e999": math.MinInt64,
	} {
		var f fitting
		member.Fit([]byte(`{"n":`+value+`,"small":`+value+`}`), &f)
		if f.N != want || f.Small != nil {
			t.Errorf("%s gave %d, %v", value, f.N, f.Small)
		}
	}
}

// Whatever the bytes, Fit ends without a panic.
func TestFitTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fitting
		member.Fit([]byte(rapid.StringMatching(`[{}\[\]":,nsilt0-9e.\\]{0,40}`).Draw(t, "text")), &f)
	})
}
