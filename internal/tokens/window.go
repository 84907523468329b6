package tokens

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

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
