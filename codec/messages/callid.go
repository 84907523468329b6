package messages

import (
	"cmp"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// placed returns the parts of a message with their paths and call identifiers.
func placed(m *genwayv1.Message, path string) []placedPart {
	parts := make([]placedPart, len(m.GetParts()))
	for i, p := range m.GetParts() {
		id := cmp.Or(p.GetToolCall().GetId(), p.GetToolResult().GetToolCallId())
		parts[i] = placedPart{Part: p, path: member.Within(path, ".parts", i), callID: id}
	}
	return parts
}
