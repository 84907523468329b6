package tokens

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// words cuts text as o200k_base does before it merges, with what its published pattern
// says, alternative by alternative and in their order:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Each rune is in one of the words.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := word(text)
			if n == 0 || !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// word is how long the first word of text is.
func word(text string) int {
	first, size := utf8.DecodeRuneInString(text)
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		if n := letters(text[size:], lowerEnd); n > 0 {
			return size + n
		}
	}
	if n := letters(text, lowerEnd); n > 0 {
		return n
	}
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		if n := letters(text[size:], upperEnd); n > 0 {
			return size + n
		}
	}
	if n := letters(text, upperEnd); n > 0 {
		return n
	}
	if unicode.IsNumber(first) {
		return run(text, 3, unicode.IsNumber)
	}
	if n := signs(text); n > 0 {
		return n
	}
	return spaces(text)
}

// letters is how long a word is that end finds the end of, with its contraction.
func letters(text string, end func(string) int) int {
	n := end(text)
	if n > 0 {
		n += contraction(text[n:])
	}
	return n
}

// lowerEnd is where capitals that end in at least one small letter end. What is both,
// of scripts without case, is taken as a small one where it has to be.
func lowerEnd(text string) int {
	capitals, last := 0, 0
	for n, r := range text {
		if !upper(r) {
			break
		}
		capitals = n + utf8.RuneLen(r)
		if lower(r) {
			last = capitals
		}
	}
	if n := run(text[capitals:], len(text), lower); n > 0 {
		return capitals + n
	}
	return last
}

// upperEnd is where at least one capital and the small letters behind end.
func upperEnd(text string) int {
	capitals := run(text, len(text), upper)
	if capitals == 0 {
		return 0
	}
	return capitals + run(text[capitals:], len(text), lower)
}

// contraction is how long the ending of an English word is, if text begins with one.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] {
	case 's', 'S', 't', 'T', 'm', 'M', 'd', 'D':
		return 2
	case 0xc5: // the long s, whose capital is S
		if len(text) > 2 && text[2] == 0xbf {
			return 3
		}
		return 0
	}
	if len(text) > 2 {
		switch string([]byte{text[1] | 0x20, text[2] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// signs is how long a run of signs is, with a space ahead and the ends of lines behind.
func signs(text string) int {
	space := 0
	if text[0] == ' ' {
		space = 1
	}
	n := run(text[space:], len(text), func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	if n == 0 {
		return 0
	}
	n += space
	for n < len(text) && (text[n] == '\r' || text[n] == '\n' || text[n] == '/') {
		n++
	}
	return n
}

// spaces is how long a run of spaces is: to its last end of a line, or without the one
// that belongs to the word behind.
func spaces(text string) int {
	end, line, last := 0, 0, 0
	for n, r := range text {
		if !unicode.IsSpace(r) {
			break
		}
		last, end = n, n+utf8.RuneLen(r)
		if r == '\r' || r == '\n' {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end < len(text) && last > 0:
		return last
	}
	return end
}

// run is how long the head of text is whose runes are all of a kind, up to most runes.
func run(text string, most int, kind func(rune) bool) int {
	for n, r := range text {
		if most == 0 || !kind(r) {
			return n
		}
		most--
	}
	return len(text)
}

func upper(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'A' && r <= 'Z'
	}
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func lower(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z'
	}
	return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
}
