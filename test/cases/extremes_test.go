package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/harness"
)

func extremeCases() []Case {
	return []Case{
		{"N82", "a body at its extremes is refused natively at every endpoint, by its headers alone without a key, and no refusal or line of the log grows with names that the caller chose", extremeBodies},
	}
}

// maxRefusal bounds what a refusal has, in bytes: its message and its path twice, and the rest.
const maxRefusal = 16 << 10

func extremeBodies(t *testing.T) {
	const many = 100_000
	long := strings.Repeat("n", 10*many)
	g := harness.New(t, harness.Config{})
	for _, p := range append(harness.Texts(), harness.Images) {
		calls := map[string]string{"": harness.CallOf(p, "chat/m", p.Hello(), false).Path}
		switch p {
		case harness.GenerateContent:
			calls["stream "] = harness.CallOf(p, "chat/m", p.Hello(), true).Path
			calls["count "] = strings.Replace(calls[""], ":generateContent", ":countTokens", 1)
		case harness.Messages:
			calls["count "] = calls[""] + "/count_tokens"
		case harness.Responses:
			calls["compact "] = calls[""] + "/compact"
		case harness.Chat, harness.Interactions, harness.Images:
		}
		for endpoint, path := range calls {
			for name, body := range map[string]string{
				"empty":             "",
				"spaces":            " \r\n\t",
				"empty object":      "{}",
				"null":              "null",
				"array":             "[]",
				"text":              `"x"`,
				"number":            "9007199254740993",
				"cut":               "{",
				"two documents":     `{"a":1}{"b":2}`,
				"no UTF-8":          "\xff\xfe",
				"byte order mark":   "\xef\xbb\xbf{}",
				"null character":    "{}\x00",
				"NaN":               `{"a":NaN}`,
				"deep arrays":       strings.Repeat("[", many),
				"deep objects":      strings.Repeat(`{"a":`, many),
				"deep inside":       `{"model":"chat/m","tools":` + strings.Repeat(`[{"a":`, many),
				"a long name":       `{"` + long + `":NaN}`,
				"a long name twice": `{"` + long + `":1,"` + long + `":2}`,
				"a long value":      `{"model":` + strings.Repeat("9", 10*many) + `,"contents":` + strings.Repeat("9", 10*many) + `}`,
			} {
				t.Run(string(p)+" "+endpoint+name, func(t *testing.T) {
					call := harness.CallOf(p, "chat/m", p.Hello(), false)
					call.Path, call.Body = path, body
					a := g.Call(call)
					native(t, p, a, 400)
					if len(a.Body) > maxRefusal {
						t.Errorf("the refusal has %d bytes: %.300s", len(a.Body), a.Body)
					}
					if len(body) > 64<<10 {
						return // answered while it is sent, which some clients take for a broken connection
					}
					for _, header := range keyHeaders {
						call.Header.Del(header)
					}
					missing := 401
					if p == harness.GenerateContent || p == harness.Interactions {
						missing = 403
					}
					native(t, p, g.Call(call), missing)
				})
			}
		}
	}
	model := harness.CallOf(harness.Chat, long, harness.Chat.Hello(), false)
	native(t, harness.Chat, g.Call(model), 404)
	for line := range strings.Lines(g.Log()) {
		if len(line) > maxRefusal {
			t.Errorf("a line of the log has %d bytes: %.300s", len(line), line)
		}
	}
}
