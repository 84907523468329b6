package chat

import (
	"crypto/sha256"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// identified returns identifiers to the tool calls and results of a conversation that lacks
// them. Calls of the deprecated function_call have none.
func identified(list []*genwayv1.Message) []*genwayv1.Message {
	return codec.Pair(list, func(m *genwayv1.Message, p *genwayv1.Part) bool {
		return marked(m.GetNativeFields(), functionRole) || marked(p.GetNativeFields(), functionCallName)
	})
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortened returns tool calls and results identifiers of the length that the dialect wants,
// the same for the same one.
func (e *encoder) shortened(list []*genwayv1.Message) []*genwayv1.Message {
	if e.dialect == nil || e.dialect.CallIDs == 0 {
		return list
	}
	out, _ := codec.RewrittenParts(list, func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return shortID(p, e.dialect.CallIDs) })
	return out
}

// shortID returns a part with an identifier of that length; nil for one that needs none.
func shortID(p *genwayv1.Part, length int) *genwayv1.Part {
	id := p.GetToolCall().GetId() + p.GetToolResult().GetToolCallId()
	if id == "" || len(id) == length && strings.Trim(id, idCharacters) == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, length)
	for i := range short {
		short[i] = idCharacters[int(sum[i])%len(idCharacters)]
	}
	if p.GetToolCall() != nil {
		return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Id = string(short) })
	}
	return codec.WithResult(p, func(result *genwayv1.ToolResult) { result.ToolCallId = string(short) })
}
