package cli

import (
	"strings"
	"unicode"
)

// ShellWord returns a word as a shell takes it for one.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+:@%,=", c)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
