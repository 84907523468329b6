package messages

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// callIDs names the tool calls of a conversation that has no identifiers for them
// (generateContent may leave them out), and finds the call of a result without
// one: the first that waits for a result under the same name.
type callIDs struct {
	waiting []waitingCall
}

type waitingCall struct{ id, name string }

// place gives the parts of a message with their paths and call identifiers.
func (c *callIDs) place(m *genwayv1.Message, index int, path string) []placedPart {
	parts := make([]placedPart, len(m.GetParts()))
	for i, p := range m.GetParts() {
		parts[i] = placedPart{Part: p, path: member.Within(path, ".parts", i)}
		switch k := p.GetKind().(type) {
		case *genwayv1.Part_ToolCall:
			parts[i].callID = c.call(k.ToolCall, int32(index), int32(i))
		case *genwayv1.Part_ToolResult:
			parts[i].callID = c.result(k.ToolResult)
		}
	}
	return parts
}

func (c *callIDs) call(t *genwayv1.ToolCall, message, part int32) string {
	if t.GetId() != "" {
		return t.GetId()
	}
	id := codec.SyntheticToolID("", message, part)
	c.waiting = append(c.waiting, waitingCall{id, t.GetName()})
	return id
}

// result gives "" for a result that answers no call.
func (c *callIDs) result(r *genwayv1.ToolResult) string {
	if r.GetToolCallId() != "" {
		return r.GetToolCallId()
	}
	for i, call := range c.waiting {
		if call.name == r.GetName() {
			c.waiting = slices.Delete(c.waiting, i, i+1)
			return call.id
		}
	}
	return ""
}
