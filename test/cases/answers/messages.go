package answers

import "encoding/json"

func (t Reply) messagesFinish() string {
	switch {
	case t.Finish == Truncated:
		return "max_tokens"
	case t.calls():
		return "tool_use"
	}
	return "end_turn"
}

var messagesUsage = object{"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7}

// messagesHead is the message but for its content and end.
func messagesHead(content []object, stop any) object {
	return object{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": messagesUsage}
}

func (t Reply) messages() string {
	content := []object{}
	for _, p := range t.Parts {
		b := p.block()
		switch {
		case p.Text != "":
			b["text"] = p.Text
		case p.Call != nil:
			b["input"] = object{}
			if json.Valid([]byte(p.Call.Arguments)) {
				b["input"] = json.RawMessage(p.Call.Arguments)
			}
		case p.Redacted == "":
			b["thinking"], b["signature"] = p.Thinking, p.Signature
		}
		content = append(content, b)
	}
	return text(messagesHead(content, t.messagesFinish()))
}

// block is a content block as a stream opens it.
func (p Part) block() object {
	switch {
	case p.Text != "":
		return object{"type": "text", "text": ""}
	case p.Call != nil:
		return object{"type": "tool_use", "id": p.Call.ID, "name": p.Call.Name, "input": object{}}
	case p.Redacted != "":
		return object{"type": "redacted_thinking", "data": p.Redacted}
	}
	return object{"type": "thinking", "thinking": "", "signature": ""}
}

func (p Part) deltas() []object {
	var deltas []object
	add := func(kind, member, value string) {
		for _, piece := range halves(value) {
			deltas = append(deltas, object{"type": kind, member: piece})
		}
	}
	switch {
	case p.Text != "":
		add("text_delta", "text", p.Text)
	case p.Call != nil:
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""})
		add("input_json_delta", "partial_json", p.Call.Arguments)
	case p.Redacted == "":
		add("thinking_delta", "thinking", p.Thinking)
		if p.Signature != "" {
			deltas = append(deltas, object{"type": "signature_delta", "signature": p.Signature})
		}
	}
	return deltas
}

func (t Reply) messagesEvents() []string {
	events := []string{text(object{"type": "message_start", "message": messagesHead([]object{}, nil)}), `{"type":"ping"}`}
	for i, p := range t.Parts {
		events = append(events, text(object{"type": "content_block_start", "index": i, "content_block": p.block()}))
		for _, d := range p.deltas() {
			events = append(events, text(object{"type": "content_block_delta", "index": i, "delta": d}))
		}
		events = append(events, text(object{"type": "content_block_stop", "index": i}))
	}
	end := object{"type": "message_delta", "delta": object{"stop_reason": t.messagesFinish(), "stop_sequence": nil}, "usage": object{"output_tokens": 7}}
	return append(events, text(end), `{"type":"message_stop"}`)
}
