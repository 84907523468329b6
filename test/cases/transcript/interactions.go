package transcript

import (
	"encoding/json"
	"strings"

	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func (r *reader) interactions(v probe.Value) {
	r.t.Helper()
	r.interaction(v)
	var echo []string
	for _, step := range v.At("steps").List() {
		echo = append(echo, string(step.Raw))
		r.step(step)
		for _, c := range step.At("content").List() {
			c.At("type").Is(r.t, `"text"`)
			r.wantf(c.At("text").Text() != "", "an empty text (T2)")
			r.turn.Text += c.At("text").Text()
		}
		for _, c := range step.At("summary").List() {
			c.At("type").Is(r.t, `"text"`)
			r.turn.Thinking += c.At("text").Text()
		}
		if step.At("type").Text() == "function_call" {
			r.wantf(step.At("arguments").Members() != nil, "arguments are no object: %s", step.Raw)
			r.turn.Calls[len(r.turn.Calls)-1].Arguments = string(step.At("arguments").Raw)
		}
	}
	r.turn.Echo = strings.Join(echo, ",")
}

// interaction reads what an answer and its last event have.
func (r *reader) interaction(v probe.Value) {
	r.t.Helper()
	v.At("object").Is(r.t, `"interaction"`)
	r.wantf(v.At("id").Text() != "" && v.At("model").Text() != "" && v.At("status").Text() != "", "id, model and status are required: %s", v.Raw)
	r.turn.Finish = v.At("status").Text()
}

// step reads what a step begins with, streamed or not.
func (r *reader) step(step probe.Value) {
	r.t.Helper()
	switch step.At("type").Text() {
	case "model_output":
	case "thought":
		r.wantf(string(step.At("signature").Raw) != `""`, "an invented signature (R4): %s", step.Raw)
		r.signature(step.At("signature").Text())
	case "function_call":
		r.turn.Calls = append(r.turn.Calls, Call{ID: step.At("id").Text(), Name: step.At("name").Text()})
		r.wantf(step.At("id").Text() != "" && step.At("name").Text() != "", "a call without id or name: %s", step.Raw)
		r.signature(step.At("signature").Text())
	default:
		r.t.Errorf("unexpected step %s", step.Raw)
	}
}

func (r *reader) interactionsStream(frames []harness.Frame) {
	r.t.Helper()
	s := &interactionsState{reader: r, open: -1}
	id := ""
	for i, f := range frames {
		if i == len(frames)-1 {
			r.wantf(f.Data == "[DONE]", "the last event is %s", f.Data)
			break
		}
		v := f.JSON()
		name := v.At("event_type").Text() // by which clients tell events; their names as well may be given
		r.wantf(f.Event == "" || f.Event == name, "event %s is named %s", name, f.Event)
		r.wantf((i == 0) == (name == "interaction.created"), "event %d is %s (S7)", i, name)
		r.wantf((i == len(frames)-2) == (name == "interaction.completed"), "event %d of %d is %s", i, len(frames), name)
		if of := v.At("interaction.id").Text(); of != "" {
			r.wantf(id == "" || of == id, "the interaction is %s after %s", of, id)
			id = of
		}
		s.event(name, v)
	}
	r.wantf(s.open < 0 && r.turn.Finish != "", "the last step is open, or the stream has no status")
	var echo []string
	for _, step := range s.kept {
		echo = append(echo, text(step))
	}
	r.turn.Echo = strings.Join(echo, ",")
}

type interactionsState struct {
	*reader
	open int
	kind string
	// text and arguments are what the open step has got so far.
	text, arguments string
	signed          bool
}

func (s *interactionsState) event(name string, v probe.Value) {
	s.t.Helper()
	switch name {
	case "interaction.created":
		v.At("interaction.status").Is(s.t, `"in_progress"`)
		s.interaction(v.At("interaction"))
		s.turn.Finish = ""
	case "step.start":
		s.wantf(s.open < 0 && int(v.At("index").Int()) == len(s.kept), "step %s starts while %d is open, want %d (T9)", v.At("index").Raw, s.open, len(s.kept))
		s.open, s.kind, s.text, s.arguments, s.signed = len(s.kept), v.At("step.type").Text(), "", "", false
		s.step(v.At("step"))
		kept := object{}
		for name, value := range v.At("step").Members() {
			kept[name] = value
		}
		s.kept = append(s.kept, kept)
	case "step.delta":
		s.wantf(s.open >= 0 && int(v.At("index").Int()) == s.open, "delta for %s while %d is open (T9)", v.At("index").Raw, s.open)
		s.delta(v.At("delta"))
	case "step.stop":
		s.wantf(s.open >= 0 && int(v.At("index").Int()) == s.open, "stop of %s while %d is open (T9)", v.At("index").Raw, s.open)
		s.gather()
		s.open = -1
	case "interaction.completed":
		s.wantf(s.open < 0, "the end within a step")
		s.interaction(v.At("interaction"))
	case "interaction.status_update":
	default:
		s.t.Errorf("unexpected event %s: %s", name, v.Raw)
	}
}

func (s *interactionsState) delta(d probe.Value) {
	s.t.Helper()
	kept := s.kept[max(s.open, 0)]
	switch kind := d.At("type").Text(); kind {
	case "text":
		s.wantf(s.kind == "model_output" && d.At("text").Text() != "", "text in a step of %s: %s", s.kind, d.Raw)
		s.text += d.At("text").Text()
		s.turn.Text += d.At("text").Text()
	case "thought_summary":
		s.wantf(s.kind == "thought" && !s.signed, "a summary in a step of %s, after the signature %t (R3)", s.kind, s.signed)
		s.text += d.At("content.text").Text()
		s.turn.Thinking += d.At("content.text").Text()
	case "thought_signature", "arguments_delta":
		signature := d.At("signature").Text()
		s.wantf(s.kind == map[string]string{"thought_signature": "thought", "arguments_delta": "function_call"}[kind], "%s in a step of %s", kind, s.kind)
		s.wantf(kind == "arguments_delta" || !s.signed && signature != "", "a signature twice, or an empty one (R4): %s", d.Raw)
		if s.signature(signature); signature != "" {
			s.signed, kept["signature"] = true, signature
		}
		s.arguments += d.At("arguments").Text()
		if n := len(s.turn.Calls); n > 0 && kind == "arguments_delta" {
			s.turn.Calls[n-1].Arguments += d.At("arguments").Text()
		}
	default:
		s.t.Errorf("unexpected delta %s", d.Raw)
	}
}

// gather closes the step as a client does: pieces joined, arguments parsed.
func (s *interactionsState) gather() {
	kept := s.kept[max(s.open, 0)]
	said := []object{{"type": "text", "text": s.text}}
	switch {
	case s.kind == "model_output":
		s.wantf(s.text != "", "an empty text (T2)")
		kept["content"] = said
	case s.kind == "thought" && s.text != "":
		kept["summary"] = said
	case s.kind == "function_call" && json.Valid([]byte(s.arguments)):
		kept["arguments"] = json.RawMessage(s.arguments)
	}
}
