package chat

import "github.com/genway/genway/codec/member"

// newChunkRoom returns the memory of the chunks that streams are made of, hundreds in a row: a
// piece of text, of thinking or of a call's arguments, or the end of a choice.
func newChunkRoom() *member.Room {
	return member.NewRoom(new(member.Slot[choice]), new(member.Slot[message]), new(member.Slot[toolCall]), new(member.Slot[functionCall]))
}
