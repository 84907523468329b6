package chat

import (
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
