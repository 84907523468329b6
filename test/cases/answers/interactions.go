package answers

import "encoding/json"

func (t Reply) interactionsStatus() string {
	switch {
	case t.Finish == Truncated:
		return "incomplete"
	case t.calls():
		return "requires_action"
	}
	return "completed"
}

// interaction is an Interaction with a status and further members.
func interaction(status, members string) string {
	return `{"id":"v1_1","object":"interaction","status":"` + status + `","created":"2026-11-28T10:00:00Z","updated":"2026-11-28T10:00:01Z","model":"m"` + members + `}`
}

const interactionsUsage = `,"usage":{"total_input_tokens":11,"total_output_tokens":7,"total_thought_tokens":0,"total_tokens":18}`

func (p Part) step() object {
	switch {
	case p.Text != "":
		return object{"type": "model_output", "content": []object{{"type": "text", "text": p.Text}}}
	case p.Call != nil:
		call := object{"type": "function_call", "id": p.Call.ID, "name": p.Call.Name, "arguments": object{}}
		if json.Valid([]byte(p.Call.Arguments)) {
			call["arguments"] = json.RawMessage(p.Call.Arguments)
		}
		if p.Call.Signature != "" {
			call["signature"] = p.Call.Signature
		}
		return call
	case p.Redacted != "":
		return object{"type": "thought", "signature": p.Redacted}
	}
	thought := object{"type": "thought", "summary": []object{{"type": "text", "text": p.Thinking}}}
	if p.Signature != "" {
		thought["signature"] = p.Signature
	}
	return thought
}

func (t Reply) interactions() string {
	steps := []object{}
	for _, p := range t.Parts {
		steps = append(steps, p.step())
	}
	return interaction(t.interactionsStatus(), `,"steps":`+text(steps)+interactionsUsage)
}

// interactionsEvents are in the order of the vendor's: a step at a time, each begun empty.
func (t Reply) interactionsEvents() []string {
	events := []string{`{"interaction":` + interaction("in_progress", "") + `,"event_type":"interaction.created"}`}
	for i, p := range t.Parts {
		begin := object{"type": p.step()["type"]}
		var deltas []object
		switch {
		case p.Text != "":
			for _, piece := range halves(p.Text) {
				deltas = append(deltas, object{"type": "text", "text": piece})
			}
		case p.Call != nil:
			begin = p.step()
			begin["arguments"] = object{}
			for _, piece := range halves(p.Call.Arguments) {
				deltas = append(deltas, object{"type": "arguments_delta", "arguments": piece})
			}
		case p.Redacted != "":
			deltas = append(deltas, object{"type": "thought_signature", "signature": p.Redacted})
		default:
			for _, piece := range halves(p.Thinking) {
				deltas = append(deltas, object{"type": "thought_summary", "content": object{"type": "text", "text": piece}})
			}
			if p.Signature != "" {
				deltas = append(deltas, object{"type": "thought_signature", "signature": p.Signature})
			}
		}
		events = append(events, text(object{"event_type": "step.start", "index": i, "step": begin}))
		for _, d := range deltas {
			events = append(events, text(object{"event_type": "step.delta", "index": i, "delta": d}))
		}
		events = append(events, text(object{"event_type": "step.stop", "index": i}))
	}
	return append(events, `{"interaction":`+interaction(t.interactionsStatus(), interactionsUsage)+`,"event_type":"interaction.completed"}`, "[DONE]")
}
