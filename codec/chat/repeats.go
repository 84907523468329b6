package chat

import "github.com/genway/genway/codec/member"

// Repeats implements codec.Repeater: an answer calls a tool in the way it was offered.
func (Codec) Repeats(body []byte) bool { return member.Mentions(body, functionsName) }
