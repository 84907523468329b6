// Package tokens counts what a text or an image costs in tokens.
//
// Texts are measured with a real byte-pair tokenizer, o200k_base, whose
// vocabulary is embedded, packed: counts are those of the models that use it and a close
// estimate for any other. Images follow published tile rules (see image.go).
//
// The vocabulary is unpacked on the first use and never before, since it costs about
// 30 ms and 4 MB of resident memory that a gateway without the sandbox can save.
// Every function is safe for concurrent use.
//
// The package is arithmetic only: it must not import gen, codec or gateway.
package tokens

import "iter"

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
