// Package tokens counts what a text or an image costs in tokens.
//
// Texts are measured with a real byte-pair tokenizer, o200k_base, whose
// vocabulary is embedded, packed: counts are exact for the models that use it and a close
// estimate for any other. Images follow published tile rules.
//
// The vocabulary is unpacked on the first use and never before, since it costs about
// 30 ms and 4 MB of resident memory that a gateway without the sandbox can save.
// Every function is safe for concurrent use.
//
// The package is arithmetic only: it must not import gen, codec or gateway.
package tokens

import (
	"cmp"
	"iter"
	"unicode"
	"unicode/utf8"
)

// Split returns the tokens of text in order: len(Split(text)) is Count(text) if that is exact, and
// their concatenation is exactly text, whatever bytes it holds. A token may end
// in the middle of a character, so it is not always valid UTF-8 by itself; see
// Pieces for units that are.
func Split(text string) []string {
	var out []string
	for t := range all(text) {
		out = append(out, t)
	}
	return out
}

// all yields the tokens of text, reading no further ahead than a window.
func all(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w, plain := range windows(text) {
			if !plain {
				for i := range len(w) {
					if !yield(w[i : i+1]) {
						return
					}
				}
				continue
			}
			for word := range words(w) {
				if !merged(word, yield) {
					return
				}
			}
		}
	}
}

// MaxExact is how many bytes of text are counted exactly, of one text and of all texts of a
// Counter. What follows them counts in proportion: the tokenizer takes a second for a few
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

// The rules of images, each published by a vendor for its models and taken here as
// the sandbox's own, since a count has to come from somewhere a reader can check.
const (
	imageBase     = 85   // tokens of any image that is read
	imageTile     = 170  // tokens of each tile at high detail
	tileSide      = 512  // pixels
	longestSide   = 2048 // an image is first scaled down to fit this square,
	shortestSide  = 768  // then until its shorter side is no more than this
	largestPixels = 1 << 20
)

// Image estimates what reading an image costs.
//
//	detail            rule
//	low               85
//	any other, or ""  scale down into 2048 x 2048, then down to a shorter side of
//	                  768; 85 + 170 for each tile of 512 x 512 it touches
//
// This is the tile rule OpenAI publishes for its vision models. An image of unknown
// size (a side of zero or less) costs 85; sides above 1,048,576 are taken for that.
func Image(width, height int, detail string) int {
	if width <= 0 || height <= 0 || detail == "low" {
		return imageBase
	}
	w, h := min(width, largestPixels), min(height, largestPixels)
	w, h = scaleDown(w, h, max(w, h), longestSide)
	w, h = scaleDown(w, h, min(w, h), shortestSide)
	return imageBase + imageTile*tiles(w)*tiles(h)
}

// Drawing is what producing an image of this size costs: one token for each square
// patch plus one that ends each row of patches, where a patch is 16 pixels wide at
// high quality, 32 at medium and 64 at low.
//
//	quality            patch   1024x1024   1024x1536
//	low                64      272         408
//	medium, auto, ""   32      1056        1584
//	high and others    16      4160        6240
//
// The figures are those OpenAI publishes for its image models at these sizes. A side
// of zero or less costs nothing; sides above 1,048,576 are taken for that.
func Drawing(width, height int, quality string) int {
	if width <= 0 || height <= 0 {
		return 0
	}
	patch := 16
	switch quality {
	case "low":
		patch = 64
	case "medium", "auto", "":
		patch = 32
	}
	columns := (min(width, largestPixels) + patch - 1) / patch
	rows := (min(height, largestPixels) + patch - 1) / patch
	return rows * (columns + 1)
}

// scaleDown scales w x h by limit/side when side is above limit. No side vanishes.
func scaleDown(w, h, side, limit int) (int, int) {
	if side <= limit {
		return w, h
	}
	return max(w*limit/side, 1), max(h*limit/side, 1)
}

func tiles(side int) int { return (side + tileSide - 1) / tileSide }

// windowBytes is the largest slice of text the tokenizer is given at once. The
// merge of one unbroken run costs O(n log n) and some thirty times its size in memory,
// so the window bounds both.
const windowBytes = 16 << 10

// windows cuts text into slices that can be tokenized one by one, and says of each
// whether the tokenizer can take it; a slice that it cannot consists of stray runes
// only.
//
// Slices end where the pattern of o200k_base always ends a token: between a letter
// and a rune that is neither letter, mark nor apostrophe (words end there, and
// nothing in the pattern looks back). Only a slice without such a place is cut at
// its end.
func windows(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for len(text) > 0 {
			n, plain := uniform(text, windowBytes)
			// What ends at the text's end or at a stray rune needs no other boundary.
			if plain && n < len(text) && !stray(text[n:]) {
				n = boundary(text, n)
			}
			if !yield(text[:n], plain) {
				return
			}
			text = text[n:]
		}
	}
}

// uniform returns the length of the head of text whose runes are all plain, or all
// stray, and which of the two. The head has at least one rune and, apart from that,
// at most limit bytes.
func uniform(text string, limit int) (n int, plain bool) {
	plain = !stray(text)
	for n < len(text) && stray(text[n:]) != plain {
		_, size := utf8.DecodeRuneInString(text[n:])
		if n > 0 && n+size > limit {
			break
		}
		n += size
	}
	return n, plain
}

// stray reports whether text begins with a byte that is no UTF-8, and so in no word.
func stray(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return r == utf8.RuneError && size == 1
}

// boundary returns the last certain token boundary of text at or before limit, or
// limit if there is none. Both are rune boundaries.
func boundary(text string, limit int) int {
	after, _ := utf8.DecodeRuneInString(text[limit:])
	for i := limit; i > 0; {
		before, size := utf8.DecodeLastRuneInString(text[:i])
		if unicode.IsLetter(before) && after != '\'' && !unicode.IsLetter(after) && !unicode.IsMark(after) {
			return i
		}
		after = before
		i -= size
	}
	return limit
}
