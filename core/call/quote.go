package call

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxQuote bounds a quote, in bytes.
const maxQuote = 240

// secrets finds what looks like a credential: vendors repeat the keys of others, too. quotations finds what is quoted at length, which
// may be of a prompt.
var (
	secrets = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?i)(?:\\bbearer +|\\b(?:sk|rk|pk|xai|gsk|hf|gwk)[-_]|\\bAIza|\\bAKIA|\\bya29\\.|\\beyJ)[^\\s\"'`,;)]{6,}")
	})
	quotations = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\"[^\"]{65,}\"|\\B'[^']{65,}'|`[^`]{65,}`")
	})
)

// Quote returns what may be kept of an upstream's error text: one line of printable UTF-8, at most 240 bytes, without
// what looks like a credential and without long quotations.
func Quote(message string) string {
	const read = 4 << 10 // of which the rest is not looked at
	message = strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(message[:min(len(message), read)], ""))), " ")
	message = quotations().ReplaceAllString(secrets().ReplaceAllString(message, "[REDACTED]"), `"…"`)
	if len(message) > maxQuote {
		message = strings.ToValidUTF8(message[:maxQuote-len("…")], "") + "…"
	}
	return message
}

// printable drops what a terminal or a page obeys, and keeps spaces.
func printable(r rune) rune {
	if unicode.IsPrint(r) || unicode.IsSpace(r) {
		return r
	}
	return -1
}
