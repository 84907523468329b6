package answers

func (t Reply) chatFinish() string {
	switch {
	case t.Finish == Truncated:
		return "length"
	case t.calls():
		return "tool_calls"
	}
	return "stop"
}

var chatUsage = object{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}

func (t Reply) chat() string {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	content, thought := "", ""
	var calls, details []object
	for _, p := range t.Parts {
		switch {
		case p.Text != "":
			content += p.Text
			message["content"] = content
		case p.Call != nil:
			calls = append(calls, chatCall(p.Call, p.Call.Arguments))
			message["tool_calls"] = calls
		case p.Redacted != "":
			details = append(details, object{"type": "reasoning.encrypted", "data": p.Redacted, "index": len(details)})
			message["reasoning_details"] = details
		default:
			thought += p.Thinking
			message["reasoning_content"] = thought
		}
	}
	return text(object{"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m", "usage": chatUsage,
		"choices": []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": t.chatFinish()}}})
}

func chatCall(c *Call, arguments string) object {
	return object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": arguments}}
}

// ChatChunk is one chunk of a chat stream; finish "" is null.
func ChatChunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = text(finish)
	}
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + reason + `}]}`
}

// ChatUsage is the chunk that closes a chat stream.
func ChatUsage() string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":` + text(chatUsage) + `}`
}

func (t Reply) chatEvents() []string {
	events := []string{ChatChunk(`{"role":"assistant","content":""}`, "")}
	add := func(delta object) { events = append(events, ChatChunk(text(delta), "")) }
	n := 0
	for _, p := range t.Parts {
		switch {
		case p.Text != "":
			for _, piece := range halves(p.Text) {
				add(object{"content": piece})
			}
		case p.Call != nil:
			first := chatCall(p.Call, "")
			first["index"] = n
			add(object{"tool_calls": []object{first}})
			for _, piece := range halves(p.Call.Arguments) {
				add(object{"tool_calls": []object{{"index": n, "function": object{"arguments": piece}}}})
			}
			n++
		case p.Redacted != "":
			add(object{"reasoning_details": []object{{"type": "reasoning.encrypted", "data": p.Redacted, "index": 0}}})
		default:
			for _, piece := range halves(p.Thinking) {
				add(object{"reasoning_content": piece})
			}
		}
	}
	return append(events, ChatChunk(`{}`, t.chatFinish()), ChatUsage(), "[DONE]")
}
