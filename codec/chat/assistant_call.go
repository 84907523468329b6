package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// call writes a tool call. place is that of the part, from which an id is made
// where there is none.
func (s *messageEncoder) call(p *genwayv1.Part, place int32) {
	c := p.GetToolCall()
	if c.Input == nil && (s.deprecated || marked(p.NativeFields, functionCallName)) {
		if s.FunctionCall != nil {
			s.losses.Add(member.Within(s.path, ".parts", int(place)), "the deprecated function_call holds one call")
			return
		}
		s.FunctionCall = functionCallOf(p)
		return
	}
	out := toolCall{ID: c.Id, Type: "function", ExtraContent: s.extraContent(p, member.Within(s.path, ".parts", int(place)))}
	if out.ID == "" {
		out.ID = codec.SyntheticToolID(s.id, s.index, place)
	}
	switch {
	case c.Input != nil && !s.dialect.Takes("tools.custom"):
		out.Function = &functionCall{Name: c.Name, Arguments: textOf(codec.FreeFormArguments(*c.Input))}
	case c.Input != nil:
		out.Type = "custom"
		out.Custom = &customCall{Name: c.Name, Input: textOf(*c.Input), Extra: inner(p.NativeFields, "custom.")}
	default:
		out.Function = functionCallOf(p)
	}
	if len(p.NativeFields) > 0 {
		s.unknown(&out, p, place)
	}
	s.ToolCalls = append(s.ToolCalls, out)
}

// unknown writes the unknown members of a call.
func (s *messageEncoder) unknown(out *toolCall, p *genwayv1.Part, place int32) {
	var err error
	if out.Extra, err = extra(p.NativeFields, member.Within(s.path, ".parts", int(place)), s.losses, "function.", "custom.", "extra_content"); err != nil {
		s.losses.Add(member.Within(s.path, ".parts", int(place)), "a member of the call has no place in chat completions")
	}
}

// functionCallOf writes the name and arguments; none are the empty object (T10).
func functionCallOf(p *genwayv1.Part) *functionCall {
	c := p.GetToolCall()
	arguments := c.ArgumentsJson
	if arguments == "" {
		arguments = "{}"
	}
	return &functionCall{Name: c.Name, Arguments: textOf(arguments), Extra: inner(p.NativeFields, "function.")}
}
