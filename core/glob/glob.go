// Package glob matches names with patterns in which each * is any run of characters, and
// finds the patterns of many that match a name without trying each.
//
// It must not import anything of ours.
package glob

import "strings"

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
