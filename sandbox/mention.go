package sandbox

import (
	"strings"
	"unicode"
)

// mentioned returns where a tool's name stands in a prompt, or -1. A name that cannot
// be anything else (get_weather, readFile, lookup2) counts wherever it stands as a
// word of its own; a name that is a plain word counts where the prompt speaks of a
// tool: "the tool read", "read tool", "use read", "`read`".
func mentioned(prompt, name string) int {
	if name == "" {
		return -1
	}
	plain := isPlainWord(name)
	for from := 0; ; {
		i := strings.Index(prompt[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		before, after := prompt[:i], prompt[i+len(name):]
		if separate(before, after) && (!plain || spokenOf(before, after)) {
			return i
		}
		from = i + len(name)
	}
}

func isPlainWord(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) || i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// separate reports whether a name between two texts is a word of its own. A full stop
// may follow it, but not a dot within a longer name.
func separate(before, after string) bool {
	tail, front := []rune(last(before, 1)), []rune(head(after, 2))
	if len(tail) > 0 && (inName(tail[0]) || tail[0] == '.') {
		return false
	}
	if len(front) == 0 || !inName(front[0]) {
		return len(front) < 2 || front[0] != '.' || !inName(front[1])
	}
	return false
}

func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

var (
	spokenBefore = lazily("(?i)(?:\\b(?:tools?|functions?|use|using|call|run|invoke)(?: the)?:?\\s+[`'\"]?|`)$")
	spokenAfter  = lazily("(?i)^(?:[`'\"]?\\s+(?:tool|function)\\b|`)")
)

func spokenOf(before, after string) bool {
	return spokenBefore().MatchString(last(before, 40)) || spokenAfter().MatchString(head(after, 40))
}
