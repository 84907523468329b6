package sandbox

import (
	"regexp"
	"strings"
	"sync"

	"github.com/genway/genway/sandbox/schema"
)

// lazily compiles a pattern when it is used first: a start needs none.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// nameForm is a run of capitalised words within a sentence.
var nameForm = lazily(`[\pL\pN,;:]\s+(\p{Lu}[\pL\pM'’-]+(?:\s+\p{Lu}[\pL\pM'’-]+){0,5})`)

// hints are the values a prompt offers for arguments and structured answers. Where no
// name follows a preposition, any name in the prompt is one, and does for members of
// any kind as quoted words would: "Describe Paris."
func hints(prompt string) schema.Hints {
	h := schema.FromPrompt(prompt)
	if h.Phrases != nil {
		return h
	}
	quoted := h.Quoted != nil
	for _, match := range nameForm().FindAllStringSubmatch(h.Prompt, maxDirectives) {
		name := strings.TrimSuffix(strings.TrimSuffix(match[1], "'s"), "’s")
		h.Phrases = append(h.Phrases, schema.Phrase{Text: name})
		if !quoted {
			h.Quoted = append(h.Quoted, name)
		}
	}
	return h
}
