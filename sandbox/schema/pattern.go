package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a regular expression of a schema (ECMA-262), read as Go's RE2, which knows
// all of it but look-around and back references. One that cannot be read matches
// nothing: a member that needs it is left out where it may be.
type pattern struct {
	source string
	re     *regexp.Regexp
	tree   *syntax.Regexp
	err    error
}

// unicodeEscape is how ECMA-262 spells a character by its code.
var unicodeEscape = lazily(`\\u(?:([0-9A-Fa-f]{4})|\{([0-9A-Fa-f]+)\})`)

func newPattern(source string) *pattern {
	p := &pattern{source: source}
	translated := unicodeEscape().ReplaceAllString(source, `\x{$1$2}`)
	if p.re, p.err = regexp.Compile(translated); p.err != nil {
		return p
	}
	p.tree, p.err = syntax.Parse(translated, syntax.Perl)
	return p
}

// matches reports whether s has a match of p. A pair of the two that would take more
// than a tenth of a second or so, as none outside an attack does, has none.
func (p *pattern) matches(s string) bool {
	return p.err == nil && len(s)*len(p.source) <= maxMatching && p.re.MatchString(s)
}

// cost is how many checks matching s is worth: RE2 takes time in proportion to both.
func (p *pattern) cost(s string) int {
	return min(len(s)*len(p.source), maxMatching) / 1024
}

// patterned makes a string that matches every pattern of g and has the length asked
// for: strings of the first pattern, with repetitions longer and longer, are tried
// against the others.
func (m *maker) patterned(g *goal, variant int) (*value, error) {
	var failed error
	for _, p := range g.patterns {
		for _, extra := range []int{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, g.minLength} {
			for v := range maxVariants {
				if m.steps -= len(p.source) / 256; m.steps < 0 {
					return nil, errSteps
				}
				s, err := p.generate(variant+v, extra)
				m.steps -= p.cost(s)
				if err != nil {
					failed = err
					break
				}
				// A pattern without anchors leaves room for more.
				if short := g.minLength - utf8.RuneCountInString(s); short > 0 && !g.fits(s) {
					s += strings.Repeat("a", short)
				}
				if g.fits(s) {
					return textValue(s), nil
				}
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("no string was found for the pattern %.200q with the other patterns and lengths", g.patterns[0].source)
}

var errPatternLong = errors.New("a pattern asks for a string that is too long")

// generate writes a string that p was made for; extra is how many more repetitions
// than necessary each repeated part gets, variant varies the characters and branches.
func (p *pattern) generate(variant, extra int) (string, error) {
	if p.err != nil {
		return "", fmt.Errorf("the pattern %.200q cannot be read: %w", p.source, p.err)
	}
	var b strings.Builder
	w := &patternWriter{out: &b, variant: variant, extra: extra}
	if w.write(p.tree); w.full() {
		return "", errPatternLong
	}
	return b.String(), nil
}

type patternWriter struct {
	out            *strings.Builder
	variant, extra int
	work           int // calls of write
	written        int // characters of classes, so that neighbours differ in variants
}

func (w *patternWriter) write(re *syntax.Regexp) {
	if w.work++; w.full() {
		return
	}
	switch re.Op { //nolint:exhaustive // anchors and the empty match write nothing
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.out.WriteRune(r)
		}
	case syntax.OpCharClass:
		w.out.WriteRune(w.character(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.out.WriteRune(w.character([]rune{'a', 'z'}))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[w.variant%len(re.Sub)])
	case syntax.OpStar:
		w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		w.repeat(re.Sub[0], re.Min, re.Max)
	}
}

func (w *patternWriter) repeat(re *syntax.Regexp, least, most int) {
	n := least + w.extra
	if most >= 0 {
		n = min(n, most)
	}
	for range n {
		w.write(re)
		if w.full() {
			return
		}
	}
}

// full reports whether the string is too long, or its expression too busy repeating
// the empty string.
func (w *patternWriter) full() bool { return w.out.Len() > longestText || w.work > maxWriting }

// character picks from a class (pairs of first and last rune): a letter or digit if
// there is one, so that the string reads well, or else the first that can be printed.
func (w *patternWriter) character(class []rune) rune {
	w.written++
	for _, nice := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {' ', '~'}, {0xa1, 0x10ffff}} {
		for i := 0; i+1 < len(class); i += 2 {
			first, last := max(class[i], nice[0]), min(class[i+1], nice[1])
			if first <= last {
				shift := rune(w.variant * w.written % 26)
				return first + shift%(last-first+1)
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
