package codec

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Losses collects the members that a translation could not carry: the first 500 by name,
// then one entry that there are more. A nil *Losses collects nothing.
type Losses struct {
	list  []*genwayv1.Loss
	seen  map[string]bool
	moves [][]Origin
}

// maxLosses bounds how many losses are listed by name.
const maxLosses = 500

// Add adds a lost member. The reason is one short sentence without the
// member's value.
func (l *Losses) Add(member, reason string) {
	if l == nil {
		return
	}
	if member = l.Place(member); l.seen[member] || len(l.list) > maxLosses {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[member] = true
	if len(l.list) == maxLosses {
		member, reason = "...", "more members were lost than are listed by name"
	}
	l.list = append(l.list, &genwayv1.Loss{Member: member, Reason: reason})
}

// List returns the losses in the order in which they were added.
func (l *Losses) List() []*genwayv1.Loss {
	if l == nil {
		return nil
	}
	return l.list
}

// Origin is where a message of a changed conversation comes from.
type Origin struct {
	// Message is its position in the conversation before the change; -1 for a message that was added.
	Message int
	// Parts are the positions of its parts there. nil is a message whose parts have kept their positions.
	Parts []Position
}

// Position is the place of a part in a conversation.
type Position struct{ Message, Part int }

// Moved says that messages and parts have moved. Members that are added after it are named by where they come from.
func (l *Losses) Moved(from []Origin) {
	if l != nil {
		l.moves = append(l.moves, from)
	}
}

// Place returns the path that a member of a changed conversation had before the changes.
func (l *Losses) Place(path string) string {
	if l == nil || len(l.moves) == 0 {
		return path
	}
	conversation, _, _ := strings.Cut(path, "[")
	message, rest, ok := index(path, "messages[")
	if !ok {
		return path
	}
	part, below, within := index(rest, ".parts[")
	for _, from := range slices.Backward(l.moves) {
		if message >= len(from) || from[message].Message < 0 {
			return conversation
		}
		if origin := from[message]; !within || origin.Parts == nil {
			message = origin.Message
		} else if part < len(origin.Parts) {
			message, part = origin.Parts[part].Message, origin.Parts[part].Part
		} else {
			return conversation
		}
	}
	path = "messages[" + strconv.Itoa(message) + "]"
	if within {
		return path + ".parts[" + strconv.Itoa(part) + "]" + below
	}
	return path + rest
}

// index cuts a name and an index off a path.
func index(path, name string) (i int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, name)
	if !ok {
		return 0, path, false
	}
	number, rest, ok := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	return i, rest, ok && err == nil && i >= 0
}

// Fault returns a refusal of a member of a changed conversation with the path that the member had before the changes.
func (l *Losses) Fault(err error) error {
	f, refused := errors.AsType[*fault.Error](err)
	if !refused {
		return err
	}
	place := l.Place(f.Param)
	if place == f.Param {
		return err
	}
	moved := *f
	moved.Message, moved.Param = strings.ReplaceAll(f.Message, f.Param, place), place
	return &moved
}
