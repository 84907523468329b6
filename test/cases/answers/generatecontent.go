package answers

import "encoding/json"

func (t Reply) generateContentFinish() string {
	if t.Finish == Truncated {
		return "MAX_TOKENS"
	}
	return "STOP"
}

// Chunk is a generateContent answer or a chunk of a stream of them; finish "" is
// none, and then there is no usage.
func Chunk(parts, finish string) string {
	end, usage := "", ""
	if finish != "" {
		end = `,"finishReason":` + text(finish)
		usage = `,"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}`
	}
	return `{"candidates":[{"content":{"role":"model","parts":` + parts + `},"index":0` + end + `}]` + usage + `,"modelVersion":"m","responseId":"r1"}`
}

func (p Part) native() object {
	switch {
	case p.Text != "":
		return object{"text": p.Text}
	case p.Call != nil:
		call := object{"name": p.Call.Name}
		if json.Valid([]byte(p.Call.Arguments)) {
			call["args"] = json.RawMessage(p.Call.Arguments)
		}
		if p.Call.ID != "" {
			call["id"] = p.Call.ID
		}
		part := object{"functionCall": call}
		if p.Call.Signature != "" {
			part["thoughtSignature"] = p.Call.Signature
		}
		return part
	case p.Redacted != "":
		return object{"text": "", "thoughtSignature": p.Redacted}
	}
	part := object{"text": p.Thinking, "thought": true}
	if p.Signature != "" {
		part["thoughtSignature"] = p.Signature
	}
	return part
}

func (t Reply) generateContent() string {
	parts := []object{}
	for _, p := range t.Parts {
		parts = append(parts, p.native())
	}
	return Chunk(text(parts), t.generateContentFinish())
}

// generateContentEvents puts the finish into a chunk of its own (case T3).
func (t Reply) generateContentEvents() []string {
	var events []string
	for _, p := range t.Parts {
		if p.Text != "" {
			for _, piece := range halves(p.Text) {
				events = append(events, Chunk(text([]object{{"text": piece}}), ""))
			}
			continue
		}
		events = append(events, Chunk(text([]object{p.native()}), ""))
	}
	return append(events, Chunk(`[{"text":""}]`, t.generateContentFinish()))
}
