package sandbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// How much of a text a reply repeats, in characters.
const (
	longestPrompt  = 16 << 10 // of the turn that is answered
	longestResult  = 16 << 10 // of one tool result
	longestExcerpt = 240      // of anything else
)

// quote shows a text, whole where it has at most limit characters.
func quote(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return `"` + text + `"`
	}
	tail := limit / 4
	return fmt.Sprintf(`"%s…%s" (%d characters)`, head(text, limit-tail), last(text, tail), n)
}

// excerpt is quote for what is not the point of the reply, on one line.
func excerpt(text string) string {
	return quote(strings.Join(strings.Fields(text), " "), longestExcerpt)
}

// clip bounds a name that a message repeats.
func clip(name string, limit int) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	return head(name, limit) + "…"
}

// head is the first n characters of a longer text.
func head(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// last is the last n characters of a longer text.
func last(text string, n int) string {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}

// count spells a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
