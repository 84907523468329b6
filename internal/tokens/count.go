package tokens

import (
	"cmp"
	"unicode/utf8"
)

// MaxExact is how many bytes of text are counted exactly, of one text and of all texts of a
// Counter. What is behind them counts in proportion: the tokenizer takes a second for a few
// megabytes of the worst texts, and a request has up to a hundred.
const MaxExact = 4 << 20

// Count returns the number of tokens of text; the empty text has none.
//
// Every byte that is not part of valid UTF-8 counts as one token.
// A run of more than 16 KiB without a change from letters to anything else (a
// megabyte of one repeated character) is measured in slices, which bounds the time
// to be linear in the text and may differ from the whole by a few tokens a slice;
// any other text of up to MaxExact bytes is exact.
func Count(text string) int {
	var c Counter
	return c.Add(text)
}

// Counter counts the texts of one request or answer. The zero value has counted nothing.
type Counter struct {
	// Exact is how many bytes of the texts are counted exactly, at most MaxExact; 0 is MaxExact.
	Exact int

	bytes, tokens int // that were counted exactly
}

// Add returns the number of tokens of a further text, as Count does.
func (c *Counter) Add(text string) int {
	head := min(len(text), cmp.Or(c.Exact, MaxExact)-c.bytes)
	for head < len(text) && head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	n := 0
	for range all(text[:head]) {
		n++
	}
	c.bytes += head
	c.tokens += n
	if rest := len(text) - head; rest > 0 {
		n += (rest*c.tokens + c.bytes - 1) / max(c.bytes, 1)
	}
	return n
}
