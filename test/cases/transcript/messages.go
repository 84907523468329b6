package transcript

import (
	"encoding/json"

	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func (r *reader) messages(v probe.Value) {
	r.t.Helper()
	v.At("type").Is(r.t, `"message"`)
	v.At("role").Is(r.t, `"assistant"`)
	r.wantf(v.At("usage.output_tokens").Exists(), "usage is required (U6)")
	for _, b := range v.At("content").List() {
		r.block(b)
		switch b.At("type").Text() {
		case "text":
			r.wantf(b.At("text").Text() != "", "an empty text block (T2)")
			r.turn.Text += b.At("text").Text()
		case "thinking":
			r.turn.Thinking += b.At("thinking").Text()
			r.signature(b.At("signature").Text())
		case "tool_use":
			r.wantf(b.At("input").Members() != nil, "input is no object: %s", b.At("input").Raw)
			r.turn.Calls[len(r.turn.Calls)-1].Arguments = string(b.At("input").Raw)
		}
	}
	r.turn.Finish = v.At("stop_reason").Text()
	r.turn.Echo = text(object{"role": "assistant", "content": v.At("content").Raw})
}

// block reads what a block begins with, streamed or not.
func (r *reader) block(b probe.Value) {
	r.t.Helper()
	switch b.At("type").Text() {
	case "tool_use":
		r.turn.Calls = append(r.turn.Calls, Call{ID: b.At("id").Text(), Name: b.At("name").Text()})
		r.wantf(b.At("id").Text() != "" && b.At("name").Text() != "", "tool_use without id or name: %s", b.Raw)
	case "redacted_thinking":
		r.signature(b.At("data").Text())
	case "thinking":
		r.wantf(string(b.At("signature").Raw) != `""` || b.At("thinking").Text() == "", "an invented signature (R4): %s", b.Raw)
	case "text":
	default:
		r.t.Errorf("unexpected block %s", b.Raw)
	}
}

func (r *reader) messagesStream(frames []harness.Frame) {
	r.t.Helper()
	s := &messagesState{reader: r, open: -1}
	for i, f := range frames {
		v := f.JSON()
		v.At("type").Is(r.t, `"`+f.Event+`"`)
		r.wantf((i == 0) == (f.Event == "message_start"), "event %d is %s (S7)", i, f.Event)
		r.wantf((i == len(frames)-1) == (f.Event == "message_stop"), "event %d of %d is %s", i, len(frames), f.Event)
		s.event(f.Event, v)
	}
	r.wantf(s.open < 0 && r.turn.Finish != "", "the last block is open, or no stop_reason")
	r.turn.Echo = text(object{"role": "assistant", "content": s.kept})
}

type messagesState struct {
	*reader
	next, open int
	kind       string
	// text, thinking and input are what the open block has got so far.
	text, thinking, input string
	signed                bool
}

// gathered closes the block as a client does: pieces joined, input parsed.
func (s *messagesState) gathered() {
	b := s.kept[s.open]
	switch s.kind {
	case "text":
		b["text"] = s.text
	case "thinking":
		b["thinking"] = s.thinking
	case "tool_use":
		if json.Valid([]byte(s.input)) {
			b["input"] = json.RawMessage(s.input)
		}
	}
}

func (s *messagesState) event(name string, v probe.Value) {
	s.t.Helper()
	d := v.At("delta")
	switch name {
	case "message_start":
		v.At("message.content").Is(s.t, "[]")
		s.wantf(v.At("message.usage.input_tokens").Exists() && v.At("message.usage.output_tokens").Exists(), "message_start without usage (U6)")
	case "content_block_start":
		s.wantf(s.open < 0 && int(v.At("index").Int()) == s.next, "block %s starts while %d is open, want %d (T9)", v.At("index").Raw, s.open, s.next)
		s.open, s.kind, s.text, s.thinking, s.input, s.signed = s.next, v.At("content_block.type").Text(), "", "", "", false
		s.next++
		s.block(v.At("content_block"))
		s.kept = append(s.kept, object{})
		for name, value := range v.At("content_block").Members() {
			s.kept[s.open][name] = value
		}
		if s.kind == "tool_use" {
			v.At("content_block.input").Is(s.t, "{}")
		}
	case "content_block_delta":
		s.wantf(s.open >= 0 && int(v.At("index").Int()) == s.open, "delta for %s while %d is open (T9)", v.At("index").Raw, s.open)
		s.delta(d)
	case "content_block_stop":
		s.wantf(int(v.At("index").Int()) == s.open, "stop of %s while %d is open (T9)", v.At("index").Raw, s.open)
		s.wantf(s.kind != "text" || s.text != "", "an empty text block (T2)")
		s.gathered()
		s.open = -1
	case "message_delta":
		s.wantf(s.open < 0 && s.turn.Finish == "", "message_delta in a block, or a second one (T11)")
		s.wantf(v.At("usage.output_tokens").Exists(), "message_delta without usage")
		s.turn.Finish = d.At("stop_reason").Text()
	case "message_stop":
	default:
		s.t.Errorf("unexpected event %s: %s", name, v.Raw)
	}
}

func (s *messagesState) delta(d probe.Value) {
	s.t.Helper()
	switch d.At("type").Text() {
	case "text_delta":
		s.wantf(s.kind == "text", "text in a block of %s", s.kind)
		s.text += d.At("text").Text()
		s.turn.Text += d.At("text").Text()
	case "thinking_delta":
		s.wantf(s.kind == "thinking" && !s.signed, "thinking in a block of %s, after the signature %t (R3)", s.kind, s.signed)
		s.thinking += d.At("thinking").Text()
		s.turn.Thinking += d.At("thinking").Text()
	case "signature_delta":
		s.wantf(s.kind == "thinking" && !s.signed && d.At("signature").Text() != "", "signature in a block of %s: %s (R3, R4)", s.kind, d.Raw)
		s.signed = true
		s.signature(d.At("signature").Text())
		s.kept[s.open]["signature"] = d.At("signature").Text()
	case "input_json_delta":
		s.wantf(s.kind == "tool_use", "input in a block of %s", s.kind)
		s.input += d.At("partial_json").Text()
		if n := len(s.turn.Calls); n > 0 {
			s.turn.Calls[n-1].Arguments += d.At("partial_json").Text()
		}
	default:
		s.t.Errorf("unexpected delta %s", d.Raw)
	}
}
