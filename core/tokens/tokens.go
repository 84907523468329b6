// Package tokens counts what a text or an image costs in tokens.
//
// Texts are measured with a real byte-pair tokenizer, o200k_base, whose
// vocabulary is embedded: counts are those of the models that use it and a close
// estimate for any other. Images follow published tile rules (see image.go).
//
// The vocabulary is built on the first use and never before, since it costs about
// 17 ms and 12 MB of resident memory that a gateway without the sandbox can save.
// Every function is safe for concurrent use.
//
// The package is arithmetic only: it must not import gen, codec or gateway.
package tokens

import (
	"iter"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// o200k is the tokenizer, built by the first call. The codec package is used
// without its parent, which would link the vocabularies of every encoding.
var o200k = sync.OnceValue(codec.NewO200kBase)

// Count returns the number of tokens of text; the empty text has none.
//
// Every byte that is not part of valid UTF-8, and every DEL, counts as one token.
// A run of more than 16 KiB without a change from letters to anything else (a
// megabyte of one repeated character) is measured in slices, which bounds the time
// to be linear in the text and may differ from the whole by a few tokens a slice;
// any other text is exact.
func Count(text string) int {
	n := 0
	for w, plain := range windows(text) {
		if !plain {
			n += len(w)
			continue
		}
		// The only error of the codec is invalid UTF-8 in its strict mode, which is off.
		c, _ := o200k().Count(w)
		n += c
	}
	return n
}

// Split returns the tokens of text in order: len(Split(text)) is Count(text), and
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
			_, tokens, _ := o200k().Encode(w)
			for _, t := range tokens {
				if !yield(t) {
					return
				}
			}
		}
	}
}
