// Package glob matches names with patterns in which each * is any run of characters, and
// finds the patterns of many that match a name without trying each.
//
// It must not import anything of ours.
package glob

import (
	"slices"
	"strings"
)

// An Index finds patterns of a list, of which the first that match count. It does not change
// and is safe for concurrent use; a nil Index has no patterns.
//
// Names are in a map. Globs are in groups by what is before their first * and after their
// last one, and globs with the same of both by a few characters of what is in between. So a
// name is looked up once for each length that these texts have, and compared only with
// the globs that have such a text.
type Index struct {
	patterns []string
	names    map[string][]int
	prefixes lengths[*group]
}

// group is the globs that begin with the same text.
type group struct {
	first    int
	suffixes lengths[*bucket]
}

// bucket is the globs that begin and end with the same texts.
type bucket struct {
	first int
	// plain are those that have nothing in between, grams the others by the end of the
	// longest text that they have there.
	plain []int
	grams lengths[[]int]
}

// gram is how many bytes of a text in the middle of a glob it is found by at most.
const gram = 4

// lengths are values by texts, and the lengths that these texts have, the shortest first.
type lengths[T any] struct {
	values map[string]T
	known  []int
}

func (l *lengths[T]) at(text string, otherwise func() T) T {
	v, ok := l.values[text]
	if ok {
		return v
	}
	if l.values == nil {
		l.values = map[string]T{}
	}
	v = otherwise()
	l.values[text] = v
	if at, found := slices.BinarySearch(l.known, len(text)); !found {
		l.known = slices.Insert(l.known, at, len(text))
	}
	return v
}

// NewIndex makes an index of patterns, whose places in the list are their numbers.
func NewIndex(patterns []string) *Index {
	x := &Index{patterns: slices.Clone(patterns), names: map[string][]int{}}
	for i, pattern := range x.patterns {
		if !Is(pattern) {
			x.names[pattern] = append(x.names[pattern], i)
			continue
		}
		first, last := strings.IndexByte(pattern, '*'), strings.LastIndexByte(pattern, '*')
		g := x.prefixes.at(pattern[:first], func() *group { return &group{first: i} })
		b := g.suffixes.at(pattern[last+1:], func() *bucket { return &bucket{first: i} })
		longest := ""
		for piece := range strings.SplitSeq(pattern[first:last], "*") {
			if len(piece) > len(longest) {
				longest = piece
			}
		}
		if longest == "" {
			b.plain = append(b.plain, i)
			continue
		}
		end := longest[max(0, len(longest)-gram):]
		b.grams.at(end, func() []int { return nil })
		b.grams.values[end] = append(b.grams.values[end], i)
	}
	return x
}

// First returns the number of the first pattern that matches a name and that accept, unless it
// is nil, accepts; -1 for none.
func (x *Index) First(name string, accept func(number int) bool) int {
	s := search{name: name, accept: accept, best: -1}
	if x != nil {
		s.in(x)
	}
	return s.best
}

// All returns the numbers of all patterns that match a name, the first ones first.
func (x *Index) All(name string) []int {
	var all []int
	seen := map[int]bool{} // a glob may be found by its text at two places of the name
	x.First(name, func(number int) bool {
		if !seen[number] {
			seen[number] = true
			all = append(all, number)
		}
		return false
	})
	slices.Sort(all)
	return all
}

// search is one use of an index.
type search struct {
	name   string
	accept func(int) bool
	best   int
}

// late reports whether a pattern comes behind the best that was found.
func (s *search) late(number int) bool { return s.best >= 0 && number >= s.best }

func (s *search) in(x *Index) {
	for _, i := range x.names[s.name] {
		if s.accept == nil || s.accept(i) {
			s.best = i
			break
		}
	}
	for _, n := range x.prefixes.known {
		if n > len(s.name) {
			return
		}
		if g := x.prefixes.values[s.name[:n]]; g != nil && !s.late(g.first) {
			s.group(x, g)
		}
	}
}

func (s *search) group(x *Index, g *group) {
	for _, n := range g.suffixes.known {
		if n > len(s.name) {
			return
		}
		b := g.suffixes.values[s.name[len(s.name)-n:]]
		if b == nil || s.late(b.first) {
			continue
		}
		s.try(x, b.plain)
		for _, n := range b.grams.known {
			for from := 0; from+n <= len(s.name); from++ {
				s.try(x, b.grams.values[s.name[from:from+n]])
			}
		}
	}
}

// try compares the name with patterns, of which the first comes first.
func (s *search) try(x *Index, numbers []int) {
	for _, i := range numbers {
		if s.late(i) {
			return
		}
		if Match(x.patterns[i], s.name) && (s.accept == nil || s.accept(i)) {
			s.best = i
			return
		}
	}
}

// Is reports whether a pattern has a * at all: others match the one name that they are.
func Is(pattern string) bool { return strings.Contains(pattern, "*") }

// Match reports whether name is what pattern describes. It takes the length of one
// times the length of the other at worst, whatever the pattern.
func Match(pattern, name string) bool {
	// rest and from are where to go on when what follows the last * does not fit:
	// the * takes one character more.
	rest, from, p, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			rest, from = p+1, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case rest >= 0:
			from++
			p, n = rest, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
