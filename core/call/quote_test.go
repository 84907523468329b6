package call_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/call"
)

func TestQuote(t *testing.T) {
	long := strings.Repeat("a prompt ", 10)
	for text, want := range map[string]string{
		"":                             "",
		"The server is overloaded.":    "The server is overloaded.",
		"two\nlines\t\x00 and  spaces": "two lines and spaces",
		"a\x1b[31mred\x1b[0m \u202eltr\u2028x\x7f\u0085y":                        "a[31mred[0m ltr x y",
		"gwk_ab\u200bcdefghij":                                                   "[REDACTED]",
		"Incorrect API key provided: sk-proj-1234567890abcdef. You can find it.": "Incorrect API key provided: [REDACTED] You can find it.",
		"header Authorization: Bearer abc.def-ghi; is wrong":                     "header Authorization: [REDACTED]; is wrong",
		"key=AIzaSyA-1234567_x gwk_abcdefghij (sk-1)":                            "key=[REDACTED] [REDACTED] (sk-1)",
		`bad value "` + long + `" and 'short', it isn't ` + long + " isn't":      `bad value "…" and 'short', it isn't ` + strings.TrimSpace(long) + " isn't",
		"mask a risk-free task":                                                  "mask a risk-free task",
	} {
		if got := call.Quote(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := call.Quote(string(rapid.SliceOfN(rapid.Byte(), 0, 9000).Draw(t, "text")))
		if len(got) > 240 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", got)
		}
	})
}
