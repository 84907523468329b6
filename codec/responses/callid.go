package responses

import (
	"slices"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// callIDs gives tool calls and results without an identifier, which come from a
// protocol that links them by the tool's name, one they share.
type callIDs struct{ open []openCall }

type openCall struct{ name, id string }

// call gives the identifier of the call that stands in a part of a message.
func (c *callIDs) call(message, part int, call *genwayv1.ToolCall) string {
	id := call.Id
	if id == "" {
		id = codec.SyntheticToolID("", int32(message), int32(part))
	}
	c.open = append(c.open, openCall{name: call.Name, id: id})
	return id
}

// result gives the identifier of the call a result answers: its own, else that of
// the first open call of the same tool; "" when there is none.
func (c *callIDs) result(r *genwayv1.ToolResult) string {
	for i, call := range c.open {
		if r.ToolCallId == call.id || r.ToolCallId == "" && r.Name == call.name {
			c.open = slices.Delete(c.open, i, i+1)
			return call.id
		}
	}
	return r.ToolCallId
}
