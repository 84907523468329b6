package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text makes a string: of the first pattern where there is one, in the format where it
// fits the length, or of words that name the member.
func (m *maker) text(g *goal, at place) (*value, error) {
	if g.maxLength >= 0 && g.minLength > g.maxLength {
		return nil, fmt.Errorf("minLength %d is above maxLength %d", g.minLength, g.maxLength)
	}
	if g.minLength > longestText {
		return nil, fmt.Errorf("a string of more than %d characters is asked for", longestText)
	}
	if s, ok := formatted(g.format, m.pick(at, 1<<16)+at.index+at.variant, g.minLength); ok && g.fits(s) {
		return textValue(s), nil
	}
	if len(g.patterns) > 0 {
		return m.patterned(g, m.pick(at, 4)+at.index+at.variant)
	}
	s := m.words(at)
	if g.maxLength >= 0 {
		s = s[:min(len(s), g.maxLength)]
		// A word cut short must still distinguish items of an array.
		if mark := strconv.Itoa(at.index + at.variant); at.index+at.variant > 0 && len(mark) <= len(s) {
			s = s[:len(s)-len(mark)] + mark
		} else if at.index+at.variant > 0 && len(s) == 1 {
			s = string(rune('a' + (at.index+at.variant)%26))
		}
		s = strings.TrimRight(s, " ")
	}
	for len(s) < g.minLength {
		s += "." + s
		s = s[:min(len(s), max(g.minLength, 1))]
	}
	return textValue(s), nil
}

func (g *goal) fits(s string) bool {
	length := utf8.RuneCountInString(s)
	if length < g.minLength || g.maxLength >= 0 && length > g.maxLength {
		return false
	}
	for _, p := range g.patterns {
		if !p.matches(s) {
			return false
		}
	}
	return true
}

// adjectives vary the words of made-up strings; the seed 0 takes the first.
var adjectives = []string{"sample", "plain", "small", "bright", "quiet", "early", "round", "green"}

// words makes ASCII words of the member's name: "sample city name", "plain city name 2".
func (m *maker) words(at place) string {
	s := adjectives[m.pick(at, len(adjectives))]
	if name := strings.Join(split(at.name), " "); name != "" {
		s += " " + name
	} else {
		s += " text"
	}
	if n := at.index + at.variant; n > 0 {
		s += " " + strconv.Itoa(n+1)
	}
	return s
}

// split returns the lower-case ASCII words of a member's name: cityName, city_name and
// city-name are the same. Long names give their beginning.
func split(name string) []string {
	const longest = 60
	var spaced strings.Builder
	previous := ' '
	for i, r := range name {
		if i > longest {
			break
		}
		switch {
		case r >= 'A' && r <= 'Z':
			if previous >= 'a' && previous <= 'z' {
				spaced.WriteByte(' ')
			}
			spaced.WriteRune(r - 'A' + 'a')
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			spaced.WriteRune(r)
		default:
			spaced.WriteByte(' ')
		}
		previous = r
	}
	return strings.Fields(spaced.String())
}
