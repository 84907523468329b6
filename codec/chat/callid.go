package chat

import (
	"crypto/sha256"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// identified gives identifiers to the tool calls and results of a conversation that lacks
// them. Calls of the deprecated function_call have none.
func identified(list []*genwayv1.Message) []*genwayv1.Message {
	return codec.Pair(list, func(m *genwayv1.Message, p *genwayv1.Part) bool {
		return marked(m.GetNativeFields(), functionRole) || marked(p.GetNativeFields(), functionCallName)
	})
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortened gives tool calls and results identifiers of the length that the dialect wants,
// the same for the same one.
func (e *encoder) shortened(list []*genwayv1.Message) []*genwayv1.Message {
	if e.dialect == nil || e.dialect.CallIDs == 0 {
		return list
	}
	out := make([]*genwayv1.Message, len(list))
	for i, m := range list {
		out[i] = new(genwayv1.Message)
		codec.Share(out[i], m)
		out[i].Parts = make([]*genwayv1.Part, len(m.Parts))
		for j, p := range m.Parts {
			out[i].Parts[j] = shortID(p, e.dialect.CallIDs)
		}
	}
	return out
}

func shortID(p *genwayv1.Part, length int) *genwayv1.Part {
	id := p.GetToolCall().GetId() + p.GetToolResult().GetToolCallId()
	if id == "" || len(id) == length && strings.Trim(id, idCharacters) == "" {
		return p
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, length)
	for i := range short {
		short[i] = idCharacters[int(sum[i])%len(idCharacters)]
	}
	out := new(genwayv1.Part)
	codec.Share(out, p)
	switch k := p.Kind.(type) {
	case *genwayv1.Part_ToolCall:
		call := new(genwayv1.ToolCall)
		codec.Share(call, k.ToolCall)
		call.Id = string(short)
		out.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	case *genwayv1.Part_ToolResult:
		result := new(genwayv1.ToolResult)
		codec.Share(result, k.ToolResult)
		result.ToolCallId = string(short)
		out.Kind = &genwayv1.Part_ToolResult{ToolResult: result}
	}
	return out
}
