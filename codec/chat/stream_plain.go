package chat

import "github.com/genway/genway/codec/member"

// plainChunk reads the chunks that streams are made of, hundreds in a row, without
// reflection: a piece of text, of thinking or of a call's arguments, the end of a choice,
// usage. It is used again and again, since from chunk to chunk little changes.
type plainChunk struct {
	answer
	last     answer
	one      [1]choice
	delta    message
	call     [1]toolCall
	function functionCall
}

// read reads a chunk into what the decoder would make of it; false leaves it to that.
// The chunk is valid until the next.
func (p *plainChunk) read(data []byte) (*answer, bool) {
	p.last, p.answer = p.answer, answer{}
	w := member.Over(data)
	ok := w.Members(func(name []byte) bool { return p.member(&w, name) })
	return &p.answer, ok && w.Done()
}

func (p *plainChunk) member(w *member.Walk, name []byte) bool {
	switch string(name) {
	case "choices":
		p.Choices = p.one[:0]
		return w.Elements(func() bool { return p.choice(w) })
	case "id":
		return w.Like(&p.ID, p.last.ID)
	case "object":
		return w.Like(&p.Object, p.last.Object)
	case "model":
		return w.Like(&p.Model, p.last.Model)
	case "service_tier":
		return w.Like(&p.ServiceTier, p.last.ServiceTier)
	case "system_fingerprint":
		return w.Like(&p.SystemFingerprint, p.last.SystemFingerprint)
	}
	v, ok := w.Value()
	return ok && p.take(name, v)
}

// choice reads an element of choices, of which most chunks have one.
func (p *plainChunk) choice(w *member.Walk) bool {
	if len(p.Choices) == len(p.one) {
		return false
	}
	p.Choices = p.one[:1]
	p.one[0] = choice{}
	return w.Members(func(name []byte) bool {
		if string(name) == "delta" {
			p.delta = message{}
			p.one[0].Delta = &p.delta
			return w.Members(func(name []byte) bool {
				if string(name) == toolCallsName {
					p.delta.ToolCalls = p.call[:0]
					return w.Elements(func() bool { return p.toolCall(w) })
				}
				v, ok := w.Value()
				return ok && p.delta.take(name, v)
			})
		}
		v, ok := w.Value()
		return ok && p.one[0].take(name, v)
	})
}

// toolCall reads a piece of a call of a function, of which most chunks have one.
func (p *plainChunk) toolCall(w *member.Walk) bool {
	if len(p.delta.ToolCalls) == len(p.call) {
		return false
	}
	p.delta.ToolCalls = p.call[:1]
	c := &p.call[0]
	*c = toolCall{}
	return w.Members(func(name []byte) bool {
		if string(name) == "function" {
			p.function = functionCall{}
			c.Function = &p.function
			return w.Members(func(name []byte) bool {
				v, ok := w.Value()
				return ok && p.function.take(name, v)
			})
		}
		v, ok := w.Value()
		return ok && c.take(name, v)
	})
}

// take reads a member of a call. The bytes of one of another type are wanted.
func (c *toolCall) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "index":
		return v.Int32s(&c.Index)
	case "id":
		return v.Text(&c.ID)
	case "type":
		return v.Like(&c.Type, "function") && (c.Type == "" || c.Type == "function")
	}
	return false
}

// take reads a member of a function.
func (f *functionCall) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "name":
		return v.Text(&f.Name)
	case "arguments":
		return f.Arguments.take(v)
	}
	return v.Extra(&f.Extra, name)
}

// take reads a member of a choice.
func (c *choice) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "index":
		return v.Int32s(&c.Index)
	case finishReasonName:
		return c.FinishReason.take(v)
	case "native_finish_reason":
		return c.NativeFinishReason.take(v)
	case "stop_reason":
		return c.StopReason.take(v)
	case "logprobs":
		return v.IsNull()
	case "message":
		return false
	}
	return v.Extra(&c.Extra, name)
}

// take reads a member of a delta.
func (m *message) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "role":
		return v.Like(&m.Role, "assistant")
	case "content":
		m.Content.is = isNull
		if v.IsNull() {
			return true
		}
		m.Content.is = isText
		return v.Text(&m.Content.s)
	case "reasoning_content":
		return m.ReasoningContent.take(v)
	case reasoningName:
		return m.Reasoning.take(v)
	case "refusal":
		return m.Refusal.take(v)
	}
	return false
}

// take reads a string or null.
func (t *text) take(v member.Raw) bool {
	t.is = isNull
	if v.IsNull() {
		return true
	}
	t.is = isText
	return v.Text(&t.s)
}
