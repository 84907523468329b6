package schema

import (
	"slices"
	"strings"
)

// sorts of members, by a word of their name.
var (
	placeWords  = []string{"city", "location", "place", "town", "address", "destination", "origin", "country", "region", "state", "where", "area", "venue", "departure", "arrival", "from", "to"}
	personWords = []string{"person", "recipient", "author", "customer", "guest", "contact", "who"}
	textWords   = []string{"query", "question", "prompt", "text", "message", "input", "search", "content", "q"}
	// Members that are where something starts or ends prefer the phrase after these.
	startWords = []string{"origin", "departure", "from", "start", "source"}
	endWords   = []string{"destination", "arrival", "to", "end", "target", "recipient"}
)

// hinted returns the values the hints have for a member, best first:
//
//	a member named in Fields                          its value
//	a string with a format the prompt has a word of   that word
//	a place or person by its name                     the next phrase, or the last one again
//	query, question, text, ... by its name            the first quoted string or the prompt
//	any other string without a format or pattern      the next quoted string
//	a number                                          the next number
func (m *maker) hinted(g *goal, at place) []*value {
	if m.hints.Prompt == "" && m.hints.Fields == nil && m.hints.Phrases == nil && m.hints.Quoted == nil && m.hints.Numbers == nil {
		return nil
	}
	var out []*value
	text := func(s string) {
		// A string in a format is only taken where it is recognisably one.
		if g.format == "" || checkable(g.format) || !makable(g.format) {
			out = append(out, textValue(s))
		}
	}
	if s, ok := m.hints.Fields[fieldName(at.name)]; ok && at.index == 0 {
		text(s)
		if v, err := literalValue(s); err == nil && numberForm().MatchString(s) {
			out = append(out, v)
		}
		if s == "true" || s == "false" {
			out = append(out, boolValue(s == "true"))
		}
	}
	if g.kinds&kindNumber != 0 {
		if i := m.nextNumber(); i >= 0 {
			if v, err := literalValue(m.hints.Numbers[i]); err == nil {
				out = append(out, v)
			}
		}
	}
	if g.kinds&kindString == 0 {
		return out
	}
	words := split(at.name)
	switch {
	case g.format != "":
		for _, w := range m.hints.Words {
			if checkable(g.format) && conforms(g.format, w) {
				text(w)
			}
		}
	case has(words, placeWords) || has(words, personWords):
		if s, ok := m.phrase(words); ok {
			text(s)
		}
	case has(words, textWords):
		if len(m.hints.Quoted) > 0 {
			text(m.hints.Quoted[0])
		}
		text(m.hints.Prompt)
	case g.patterns == nil:
		for i, s := range m.hints.Quoted[:min(len(m.hints.Quoted), maxHints)] {
			if m.used.quoted&(1<<i) == 0 {
				text(s)
			}
		}
	}
	return out
}

// phrase picks the phrase for a member of those words: one after the fitting
// preposition, or the first that is left, or the last.
func (m *maker) phrase(words []string) (string, bool) {
	phrases := m.hints.Phrases[:min(len(m.hints.Phrases), maxHints)]
	if len(phrases) == 0 {
		return "", false
	}
	wanted := ""
	switch {
	case has(words, startWords):
		wanted = "from"
	case has(words, endWords):
		wanted = "to"
	}
	best := -1
	for i, p := range phrases {
		if m.used.phrases&(1<<i) != 0 {
			continue
		}
		if p.Before == wanted {
			return p.Text, true
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		best = len(phrases) - 1
	}
	return phrases[best].Text, true
}

func has(words, sorts []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(sorts, w) || slices.Contains(sorts, strings.TrimSuffix(w, "s"))
	})
}
