package sandbox

import (
	"strings"
	"unicode"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// fit says how well a question fits a tool by the words they share; 0 is not at all.
//
// Of the question count the words that are neither common words (see commonWords)
// nor names of people and places, by their capital. A tool fits when one of them is in
// its name, or when at least half of them are in the first sentence of its
// description: "What's the weather like in San Francisco?" leaves "weather", which
// is both in get_weather and in "Get the current weather". Of two tools with as many of
// them the one that says less besides fits better. Long prompts fit nothing: some of
// their words fit everything; nor do long sentences of a description.
func fit(question string, t *genwayv1.Tool) int {
	const longest, inName, inDescription = 400, 100_000, 1000
	if utf8.RuneCountInString(question) > longest {
		return 0
	}
	words := contentWords(question)
	if len(words) == 0 {
		return 0
	}
	name, description := toolWords(t)
	score, described := 0, 0
	for w := range words {
		if name[w] {
			score += inName
		}
		if description[w] {
			described++
		}
	}
	if 2*described >= len(words) {
		score += inDescription*described - len(description)
	}
	return score
}

func toolWords(t *genwayv1.Tool) (name, description map[string]bool) {
	sentence := firstSentence(t.GetFunction().GetDescription() + t.GetCustom().GetDescription())
	return contentWords(spaced(toolName(t))), contentWords(strings.ToLower(sentence))
}

// maxOfDescription is how many characters of a description are looked at.
const maxOfDescription = 2000

// firstSentence is what a description begins with, up to a full stop or the end of the
// line; blank lines and headings do not count. One longer than an excerpt is none, as
// it has words of everything.
func firstSentence(description string) string {
	for line := range strings.Lines(head(description, maxOfDescription)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if i := strings.IndexByte(line, '.'); i >= 0 {
			line = line[:i]
		}
		if utf8.RuneCountInString(line) > longestExcerpt {
			return ""
		}
		return line
	}
	return ""
}

// spaced writes a name in words: getWeather and get_weather are "get weather".
func spaced(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func contentWords(sentence string) map[string]bool {
	words := map[string]bool{}
	first := true
	for w := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		w, _, _ = strings.Cut(strings.ReplaceAll(w, "’", "'"), "'")
		initial, _ := utf8.DecodeRuneInString(w)
		named := unicode.IsUpper(initial) && !first
		first = false
		w = stem(strings.ToLower(w))
		if !named && utf8.RuneCountInString(w) > 2 && !commonWords[w] {
			words[w] = true
		}
	}
	return words
}

// stem takes the plural and the like off an English word, as far as two forms of one
// word come out the same more often than not.
func stem(w string) string {
	for _, suffix := range []string{"ing", "es", "s", "ed"} {
		if rest, ok := strings.CutSuffix(w, suffix); ok && len(rest) > 3 {
			return strings.TrimSuffix(rest, "e")
		}
	}
	if len(w) > 4 {
		return strings.TrimSuffix(w, "e")
	}
	return w
}

// commonWords do not show what a question is about. They are stemmed.
var commonWords = wordSet(`
	the and for not but you your yours his her hers its our ours their them they this that these those there here
	what who whom whose which when where why how with from into onto about above below between over under out off
	are was were been being have has had does did doing can could will would shall should may might must let
	like just also only very more most much many some any all each every both few other another such than then too
	please thanks thank hello hey bye yes okay sorry good great well now today still again ever never always
	say tell give get set make want need know think see look show find help ask answer reply respond explain describe
	write read list run use call try put take go come keep start stop do work name new one two first last next
	question thing something anything nothing everything everyone someone anyone way part kind lot bit test
	tool function current given result based using used user return
`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[stem(w)] = true
		set[w] = true
	}
	return set
}
