package transcript

import (
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func (r *reader) chat(v probe.Value) {
	r.t.Helper()
	v.At("object").Is(r.t, `"chat.completion"`)
	r.wantf(len(v.At("choices").List()) == 1, "%d choices", len(v.At("choices").List()))
	m := v.At("choices[0].message")
	m.At("role").Is(r.t, `"assistant"`)
	r.wantf(m.At("content").Exists() && m.At("refusal").Exists(), "content and refusal are required")
	r.turn.Text = m.At("content").Text()
	r.chatThought(m)
	for _, c := range m.At("tool_calls").List() {
		c.At("type").Is(r.t, `"function"`)
		r.turn.Calls = append(r.turn.Calls, Call{c.At("id").Text(), c.At("function.name").Text(), c.At("function.arguments").Text()})
		r.signature(c.At("extra_content.google.thought_signature").Text())
	}
	r.turn.Finish = v.At("choices[0].finish_reason").Text()
	r.turn.Echo = string(m.Raw)
}

// chatThought reads what other gateways have made usual: reasoning_content,
// reasoning_details and the vendor's extra_content.
func (r *reader) chatThought(v probe.Value) {
	r.turn.Thinking += v.At("reasoning_content").Text()
	for _, d := range v.At("reasoning_details").List() {
		r.signature(d.At("signature").Text())
		r.signature(d.At("data").Text())
	}
	r.signature(v.At("extra_content.google.thought_signature").Text())
}

func (r *reader) chatStream(frames []harness.Frame) {
	r.t.Helper()
	if len(frames) < 2 || frames[len(frames)-1].Data != "[DONE]" {
		r.t.Fatalf("no [DONE] at the end: %v", frames)
	}
	id := frames[0].JSON().At("id").Text()
	for i, f := range frames[:len(frames)-1] {
		v := f.JSON()
		v.At("object").Is(r.t, `"chat.completion.chunk"`)
		r.wantf(f.Event == "" && v.At("id").Text() == id && id != "", "chunk %d: event %q, id %s after %s", i, f.Event, v.At("id").Raw, id)
		choices := v.At("choices").List()
		r.wantf(v.At("choices").Exists() && string(v.At("choices").Raw) != "null" && len(choices) <= 1, "chunk %d: choices %s", i, v.At("choices").Raw)
		if len(choices) == 1 {
			r.chatChunk(i, choices[0])
		}
	}
	r.wantf(r.turn.Finish != "", "no finish_reason (T5)")
	r.turn.Echo = r.chatEcho()
}

func (r *reader) chatChunk(i int, choice probe.Value) {
	r.t.Helper()
	choice.At("index").Is(r.t, "0")
	r.wantf(choice.At("delta").Members() != nil, "chunk %d has no delta object (T7)", i)
	r.wantf(r.turn.Finish == "", "chunk %d comes after the finish (T4)", i)
	r.wantf(choice.At("finish_reason").Exists(), "chunk %d: finish_reason is required", i)
	if i == 0 {
		choice.At("delta.role").Is(r.t, `"assistant"`)
	}
	r.turn.Text += choice.At("delta.content").Text()
	r.chatThought(choice.At("delta"))
	if extra := choice.At("delta.extra_content"); extra.Exists() {
		r.message["extra_content"] = extra.Raw
	}
	for _, d := range choice.At("delta.reasoning_details").List() {
		r.details = append(r.details, d.Raw)
	}
	for _, c := range choice.At("delta.tool_calls").List() {
		n := int(c.At("index").Int())
		switch {
		case !c.At("index").Exists() || n > len(r.turn.Calls) || n < len(r.turn.Calls)-1:
			r.t.Fatalf("chunk %d: tool call index %s after %d calls (T8)", i, c.At("index").Raw, len(r.turn.Calls))
		case n == len(r.turn.Calls):
			r.wantf(c.At("id").Text() != "" && c.At("function.name").Text() != "", "chunk %d: a call begins without id or name: %s", i, c.Raw)
			c.At("type").Is(r.t, `"function"`)
			r.turn.Calls = append(r.turn.Calls, Call{ID: c.At("id").Text(), Name: c.At("function.name").Text()})
			r.kept = append(r.kept, object{"id": c.At("id").Text(), "type": "function"})
		default:
			r.wantf(!c.At("id").Exists() && !c.At("function.name").Exists(), "chunk %d repeats id or name (T8): %s", i, c.Raw)
			r.wantf(c.At("function.arguments").Text() != "" || c.At("extra_content").Exists(), "chunk %d: an empty piece of a call: %s", i, c.Raw)
		}
		r.turn.Calls[n].Arguments += c.At("function.arguments").Text()
		if extra := c.At("extra_content"); extra.Exists() {
			r.kept[n]["extra_content"] = extra.Raw
		}
		r.signature(c.At("extra_content.google.thought_signature").Text())
	}
	r.turn.Finish = choice.At("finish_reason").Text()
}

// chatEcho is the message that a client gathers from the chunks: texts joined,
// lists concatenated, members it does not know as they last came.
func (r *reader) chatEcho() string {
	m := r.message
	m["role"], m["content"] = "assistant", r.turn.Text
	if r.turn.Text == "" {
		m["content"] = nil
	}
	if r.turn.Thinking != "" {
		m["reasoning_content"] = r.turn.Thinking
	}
	if len(r.details) > 0 {
		m["reasoning_details"] = r.details
	}
	for i, c := range r.turn.Calls {
		r.kept[i]["function"] = object{"name": c.Name, "arguments": c.Arguments}
		m["tool_calls"] = r.kept
	}
	return text(m)
}
