package tokens

import "unicode/utf8"

// A Piece is the shortest run of tokens that ends with a whole character: what a
// stream can send as one delta.
type Piece struct {
	// Text is valid UTF-8 if the split text was.
	Text string
	// Tokens is how many tokens Text is, at least one.
	Tokens int
}

// Pieces splits text into deltas. The texts concatenate to exactly text and the
// token counts add up to Count(text) where that is exact.
func Pieces(text string) []Piece {
	var out []Piece
	start, end, n := 0, 0, 0
	for t := range all(text) {
		end += len(t)
		n++
		if end == len(text) || whole(text[start:end]) {
			out = append(out, Piece{Text: text[start:end], Tokens: n})
			start, n = end, 0
		}
	}
	return out
}

// Cut returns the longest head of text that takes at most limit tokens and ends
// with a whole character, and how many tokens that is. It does only the work of
// the head, so that a small limit on a large text is cheap. A limit of zero or
// less gives the empty text.
func Cut(text string, limit int) (head string, used int) {
	end, n, kept := 0, 0, 0
	for t := range all(text) {
		if n++; n > limit {
			break
		}
		end += len(t)
		if whole(text[kept:end]) || end == len(text) {
			kept, used = end, n
		}
	}
	return text[:kept], used
}

// whole reports whether s does not stop in the middle of a character.
func whole(s string) bool {
	for i := len(s) - 1; i >= 0 && len(s)-i <= utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return utf8.FullRuneInString(s[i:])
		}
	}
	return true
}
