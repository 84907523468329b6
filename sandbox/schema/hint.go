package schema

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Hints are what a prompt offers as values. All of it is optional; a value is used
// only where the schema allows it, and each one at most once while others are left.
type Hints struct {
	// Fields are values by member name, as from "city: Paris"; names are compared by
	// their lower-case words, so "cityName" finds "city name".
	Fields map[string]string
	// Phrases are names of places or persons, in order.
	Phrases []Phrase
	// Quoted are strings the prompt quotes, in order.
	Quoted []string
	// Numbers are the JSON numbers of the prompt, in order.
	Numbers []string
	// Words are the words of the prompt without punctuation at their ends: dates, email
	// addresses and the like are taken from them.
	Words []string
	// Prompt is the whole text: for members such as "query", and to find enum values in.
	Prompt string
}

// A Phrase is a run of capitalised words and the preposition before it.
type Phrase struct {
	Before string // lower-case: in, at, to, from, ...
	Text   string
}

const (
	longestPrompt = 16 << 10 // bytes of a prompt that are looked at
	maxHints      = 64       // of each sort
)

var (
	quotedForm = lazily("\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”|«([^»\n]{1,400})»|`([^`\n]{1,400})`|(?:^|[\\s(])'([^'\n]{1,400})'")
	fieldForm  = lazily(`(?m)(?:^|[\s,;({])"?([\pL_][\pL\pN_-]{0,40})"?\s*[:=]\s*("[^"\n]{0,400}"|[^\s,;)}][^,;)}\n]{0,400})`)
	numberForm = lazily(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?$`)
	// phraseForm is a preposition and capitalised words, joined by a particle or, for a
	// region ("San Francisco, CA"), a comma.
	phraseForm = lazily(`(?:^|[\s(])((?i:in|for|at|to|from|near|of|with|by|about|around))\s+(?:the\s+)?` +
		`(\p{Lu}[\pL\pM'’.-]*(?:(?:\s+(?:de|la|le|del|da|do|of|the|van|von|am|an|der)){0,2}\s+\p{Lu}[\pL\pM'’.-]*|,\s+\p{Lu}[\pL\pM'’.-]*){0,5})`)
)

// lazily compiles a pattern when it is used first: the patterns of this package take longer than the rest
// of a start, and 2 MB.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// FromPrompt finds hints in a prompt only by form, without any understanding:
//
//	city: Paris, days = 3          Fields  city "Paris", days "3"
//	weather in San Francisco, CA   Phrases in "San Francisco, CA"
//	search for "red shoes"         Quoted  "red shoes"
//	wait 10 minutes                Numbers 10
//
// A phrase is a run of capitalised words after one of in, for, at, to, from, near, of,
// with, by, about, around. Which member gets which hint is documented at Options.Instance's
// order and at hinted. Only the first 16 KiB of the prompt are read.
func FromPrompt(prompt string) Hints {
	h := Hints{Fields: map[string]string{}, Prompt: strings.TrimSpace(strings.ToValidUTF8(prompt[:min(len(prompt), longestPrompt)], ""))}
	for _, match := range quotedForm().FindAllStringSubmatch(h.Prompt, maxHints) {
		h.Quoted = append(h.Quoted, strings.Join(match[1:], ""))
	}
	for _, match := range fieldForm().FindAllStringSubmatch(h.Prompt, maxHints) {
		value := strings.TrimRight(strings.TrimSpace(match[2]), ".!?")
		h.Fields[fieldName(match[1])] = strings.Trim(value, `"`)
	}
	for _, match := range phraseForm().FindAllStringSubmatch(h.Prompt, maxHints) {
		text := strings.TrimRight(match[2], ".'’-")
		text = strings.TrimSuffix(strings.TrimSuffix(text, "'s"), "’s")
		h.Phrases = append(h.Phrases, Phrase{Before: strings.ToLower(match[1]), Text: text})
	}
	for word := range strings.FieldsSeq(h.Prompt) {
		word = strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune("-/%+", r) })
		if word == "" || len(h.Words) == 16*maxHints {
			continue
		}
		h.Words = append(h.Words, word)
		if numberForm().MatchString(word) && len(h.Numbers) < maxHints {
			h.Numbers = append(h.Numbers, word)
		}
	}
	return h
}

func fieldName(name string) string { return strings.Join(split(name), " ") }

// named returns the string among values that the prompt mentions as a word or words of
// its own, the longest one if there are several, or nil.
func (h Hints) named(values []*value) *value {
	var best *value
	if h.Prompt == "" {
		return nil
	}
	words := " " + strings.Join(tokens(h.Prompt), " ") + " "
	for _, v := range values {
		if v.kind != kindString || best != nil && len(v.text) <= len(best.text) {
			continue
		}
		if name := strings.Join(tokens(v.text), " "); name != "" && strings.Contains(words, " "+name+" ") {
			best = v
		}
	}
	return best
}

// tokens are the lower-case runs of letters and digits of any script.
func tokens(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// used counts what has been given away, so that the next member gets the next hint.
// It is a value: going back on a branch puts the hints back.
type used struct {
	phrases, quoted, numbers uint64 // bits of indices below maxHints
}

// take marks the hint that v was made of, if it was, as used.
func (m *maker) take(v *value) {
	if v.kind == kindString {
		for i, p := range m.hints.Phrases[:min(len(m.hints.Phrases), maxHints)] {
			if p.Text == v.text {
				m.used.phrases |= 1 << i
			}
		}
		if i := slices.Index(m.hints.Quoted, v.text); i >= 0 && i < maxHints {
			m.used.quoted |= 1 << i
		}
	}
	if v.number != nil {
		if i := m.nextNumber(); i >= 0 && m.hints.Numbers[i] == v.text {
			m.used.numbers |= 1 << i
		}
	}
}

func (m *maker) nextNumber() int {
	for i := range min(len(m.hints.Numbers), maxHints) {
		if m.used.numbers&(1<<i) == 0 {
			return i
		}
	}
	return -1
}

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
