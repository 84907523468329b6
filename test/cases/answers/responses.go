package answers

import (
	"fmt"
	"maps"
)

var responsesUsage = object{"input_tokens": 11, "input_tokens_details": object{"cached_tokens": 0},
	"output_tokens": 7, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 18}

// response is the whole response with the given output; status is in_progress
// until it has ended.
func (t Reply) response(output []object, ended bool) object {
	r := object{"id": "resp_1", "object": "response", "created_at": 7, "status": "in_progress", "error": nil, "incomplete_details": nil,
		"instructions": nil, "metadata": object{}, "model": "m", "output": output, "parallel_tool_calls": true, "temperature": 1,
		"tool_choice": "auto", "tools": []any{}, "top_p": 1}
	if ended {
		r["status"], r["usage"] = "completed", responsesUsage
		if t.Finish == Truncated {
			r["status"], r["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
		}
	}
	return r
}

func (t Reply) items() []object {
	items := []object{}
	for i, p := range t.Parts {
		items = append(items, p.item(i))
	}
	return items
}

// item is a part as an item of the output, whole.
func (p Part) item(i int) object {
	switch {
	case p.Text != "":
		return object{"id": fmt.Sprintf("msg_%d", i), "type": "message", "status": "completed", "role": "assistant", "content": []object{outputText(p.Text)}}
	case p.Call != nil:
		return object{"id": fmt.Sprintf("fc_%d", i), "type": "function_call", "status": "completed", "call_id": p.Call.ID, "name": p.Call.Name, "arguments": p.Call.Arguments}
	}
	item := object{"id": fmt.Sprintf("rs_%d", i), "type": "reasoning", "summary": []object{}}
	if p.Thinking != "" {
		item["summary"] = []object{{"type": "summary_text", "text": p.Thinking}}
	}
	if sealed := p.Signature + p.Redacted; sealed != "" {
		item["encrypted_content"] = sealed
	}
	return item
}

func outputText(s string) object {
	return object{"type": "output_text", "text": s, "annotations": []any{}, "logprobs": []any{}}
}

func (t Reply) responses() string { return text(t.response(t.items(), true)) }

func (t Reply) responsesEvents() []string {
	s := &responsesScript{}
	s.add("response.created", object{"response": t.response([]object{}, false)})
	s.add("response.in_progress", object{"response": t.response([]object{}, false)})
	for i, p := range t.Parts {
		s.part(i, p)
	}
	end := "response.completed"
	if t.Finish == Truncated {
		end = "response.incomplete"
	}
	s.add(end, object{"response": t.response(t.items(), true)})
	return s.events
}

// responsesScript numbers the events of a stream.
type responsesScript struct{ events []string }

func (s *responsesScript) add(kind string, members object) {
	members["type"], members["sequence_number"] = kind, len(s.events)
	s.events = append(s.events, text(members))
}

// at returns members with the place they belong to.
func at(id any, item int, index string, members object) object {
	members["item_id"], members["output_index"] = id, item
	if index != "" {
		members[index] = 0
	}
	return members
}

func (s *responsesScript) part(i int, p Part) {
	whole := p.item(i)
	begun, id := maps.Clone(whole), whole["id"]
	switch {
	case p.Text != "":
		begun["status"], begun["content"] = "in_progress", []any{}
		s.add("response.output_item.added", object{"output_index": i, "item": begun})
		s.add("response.content_part.added", at(id, i, "content_index", object{"part": outputText("")}))
		for _, piece := range halves(p.Text) {
			s.add("response.output_text.delta", at(id, i, "content_index", object{"delta": piece, "logprobs": []any{}}))
		}
		s.add("response.output_text.done", at(id, i, "content_index", object{"text": p.Text, "logprobs": []any{}}))
		s.add("response.content_part.done", at(id, i, "content_index", object{"part": outputText(p.Text)}))
	case p.Call != nil:
		begun["status"], begun["arguments"] = "in_progress", ""
		s.add("response.output_item.added", object{"output_index": i, "item": begun})
		for _, piece := range halves(p.Call.Arguments) {
			s.add("response.function_call_arguments.delta", at(id, i, "", object{"delta": piece}))
		}
		s.add("response.function_call_arguments.done", at(id, i, "", object{"name": p.Call.Name, "arguments": p.Call.Arguments}))
	default:
		begun["summary"] = []any{}
		delete(begun, "encrypted_content")
		s.add("response.output_item.added", object{"output_index": i, "item": begun})
		if p.Thinking != "" {
			s.summary(i, id, p.Thinking)
		}
	}
	s.add("response.output_item.done", object{"output_index": i, "item": whole})
}

func (s *responsesScript) summary(i int, id any, thought string) {
	s.add("response.reasoning_summary_part.added", at(id, i, "summary_index", object{"part": object{"type": "summary_text", "text": ""}}))
	for _, piece := range halves(thought) {
		s.add("response.reasoning_summary_text.delta", at(id, i, "summary_index", object{"delta": piece}))
	}
	s.add("response.reasoning_summary_text.done", at(id, i, "summary_index", object{"text": thought}))
	s.add("response.reasoning_summary_part.done", at(id, i, "summary_index", object{"part": object{"type": "summary_text", "text": thought}}))
}
