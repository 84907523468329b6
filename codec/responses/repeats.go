package responses

import "github.com/genway/genway/codec/member"

// Repeats implements codec.Repeater: an answer has the request's tools and instructions,
// which may stand in its input, too; and a trigger makes it a compaction item.
func (Codec) Repeats(body []byte) bool {
	return member.Mentions(body, "tools", "instructions", "system", typeTrigger)
}
