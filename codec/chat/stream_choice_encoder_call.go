package chat

import (
	"strconv"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// call opens a tool call: id and name once, in the first piece (T8).
func (s *choiceEncoder) call(c *genwayv1.ToolCall) error {
	p := s.current
	s.written = c.ArgumentsJson != ""
	f := &functionCall{Name: c.Name, Arguments: textOf(c.ArgumentsJson), Extra: inner(p.NativeFields, "function.")}
	s.calling = c.Input == nil && (s.deprecated || marked(p.NativeFields, functionCallName))
	if s.calling {
		if s.skipped = s.called; s.skipped {
			s.losses.Add(s.path(), "the deprecated function_call holds one call")
			return nil
		}
		s.called = true
		return s.write(&message{FunctionCall: f}, nil)
	}
	i := s.calls
	s.calls++
	out := toolCall{Index: &i, ID: c.Id, Type: "function", ExtraContent: encodeExtraContent(s.seal(p.ThoughtSignature), p.NativeFields)}
	if out.ID == "" {
		out.ID = codec.SyntheticToolID(s.id, s.index, s.place)
	}
	if c.Input != nil {
		out.Type, out.Custom = "custom", &customCall{Name: c.Name, Input: textOf(*c.Input), Extra: inner(p.NativeFields, "custom.")}
	} else {
		out.Function = f
	}
	var err error
	if out.Extra, err = extra(p.NativeFields, s.path(), s.losses, "function.", "custom.", "extra_content"); err != nil {
		return err
	}
	return s.write(&message{ToolCalls: []toolCall{out}}, nil)
}

// argueBare writes {} as the arguments of the open call if it had none.
func (s *choiceEncoder) argueBare() {
	if s.bare {
		s.bare = false
		s.argue("{}")
	}
}

// argue adds arguments to the open call.
func (s *choiceEncoder) argue(piece string) {
	switch {
	case piece == "":
	case s.calling:
		s.textChunk(s.index, `{"function_call":{"arguments":`, piece, `}}`)
	default:
		s.textChunk(s.index, `{"tool_calls":[{"index":`+strconv.Itoa(int(s.calls)-1)+`,"function":{"arguments":`, piece, `}}]}`)
	}
}
