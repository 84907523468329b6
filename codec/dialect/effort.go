package dialect

import "slices"

// efforts are the words of reasoning_effort that are known, from the least.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// WithEfforts returns the dialect with the words of reasoning_effort that it takes. Without it, a
// dialect takes any. It panics at a word that is not known: a row of the table is wrong.
func (c *Chat) WithEfforts(words ...string) *Chat {
	for _, word := range words {
		if !slices.Contains(efforts, word) {
			panic("dialect: " + word + " is no effort")
		}
	}
	c.efforts = words
	return c
}

// Effort returns the word to send for an effort: the word itself if it is taken or not known, else
// the next higher that is taken, else the highest. It is empty for none where that is not taken,
// since each other word asks for reasoning.
func (c *Chat) Effort(word string) string {
	rank := slices.Index(efforts, word)
	if c == nil || c.efforts == nil || rank < 0 || slices.Contains(c.efforts, word) {
		return word
	}
	highest := ""
	for at, other := range efforts {
		if rank == 0 || !slices.Contains(c.efforts, other) {
			continue
		}
		if highest = other; at > rank {
			break
		}
	}
	return highest
}
