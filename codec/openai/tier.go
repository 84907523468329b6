package openai

import "cmp"

// DefaultTier is the service tier of an answer whose upstream names none.
const DefaultTier = "default"

// Tier is the service tier that served an answer, in the vendor's words (SDK:
// ResponseServiceTier, ChatCompletionServiceTier). Messages and generateContent call the
// default tier standard; the words that the vendors have in common stay as they are.
func Tier(word string) string {
	if word == "standard" {
		return DefaultTier
	}
	return cmp.Or(word, DefaultTier)
}
