package codec

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Rewritten returns a list in which rewrite has replaced elements. Where rewrite gives nil the
// element stays. changed is false, and the result the list itself, if all stay; the list of the
// argument is never changed.
func Rewritten[T any](list []*T, rewrite func(i int, element *T) *T) (out []*T, changed bool) {
	out = list
	for i, element := range list {
		replacement := rewrite(i, element)
		if replacement == nil {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = replacement
	}
	return out, changed
}

// RewrittenParts returns the messages in which rewrite has replaced parts, as Rewritten does.
// message is the number of the part's message.
func RewrittenParts(messages []*genwayv1.Message, rewrite func(message, i int, p *genwayv1.Part) *genwayv1.Part) (out []*genwayv1.Message, changed bool) {
	return Rewritten(messages, func(message int, m *genwayv1.Message) *genwayv1.Message {
		parts, changed := Rewritten(m.GetParts(), func(i int, p *genwayv1.Part) *genwayv1.Part { return rewrite(message, i, p) })
		if !changed {
			return nil
		}
		own := Shared(m)
		own.Parts = parts
		return own
	})
}

// WithCall returns a part whose tool call was replaced by a changed copy.
func WithCall(p *genwayv1.Part, change func(*genwayv1.ToolCall)) *genwayv1.Part {
	out, call := Shared(p), Shared(p.GetToolCall())
	change(call)
	out.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	return out
}

// WithResult returns a part whose tool result was replaced by a changed copy.
func WithResult(p *genwayv1.Part, change func(*genwayv1.ToolResult)) *genwayv1.Part {
	out, result := Shared(p), Shared(p.GetToolResult())
	change(result)
	out.Kind = &genwayv1.Part_ToolResult{ToolResult: result}
	return out
}
