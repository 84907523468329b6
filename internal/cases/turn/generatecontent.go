package turn

import (
	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/cases/probe"
)

func (r *reader) generateContent(v probe.Value) {
	r.t.Helper()
	r.want(len(v.At("candidates").List()) == 1, "%d candidates", len(v.At("candidates").List()))
	r.want(v.At("responseId").Text() != "" && v.At("modelVersion").Text() != "", "responseId and modelVersion are required")
	c := v.At("candidates[0]")
	c.At("content.role").Is(r.t, `"model"`)
	for _, p := range c.At("content.parts").List() {
		r.keep(p)
		call := p.At("functionCall")
		switch {
		case call.Exists():
			args := string(call.At("args").Raw)
			r.want(call.At("name").Text() != "" && (args == "" || args[0] == '{'), "a call without name or args: %s", p.Raw)
			r.turn.Calls = append(r.turn.Calls, Call{call.At("id").Text(), call.At("name").Text(), args})
		case string(p.At("thought").Raw) == "true":
			r.turn.Thinking += p.At("text").Text()
		case p.At("text").Exists():
			r.turn.Text += p.At("text").Text()
		default:
			r.t.Errorf("unexpected part %s", p.Raw)
		}
		r.signature(p.At("thoughtSignature").Text())
	}
	r.turn.Finish = c.At("finishReason").Text()
	r.turn.Echo = r.contentEcho()
}

// keep adds a part to what the client sends back. Plain pieces of text, and of
// thoughts, become one, as the vendor's own agent does it.
func (r *reader) keep(p probe.Value) {
	members := p.Members()
	plain := len(members) == 1 && p.At("text").Exists() || len(members) == 2 && p.At("text").Exists() && p.At("thought").Exists()
	if n := len(r.kept); plain && n > 0 && r.plain && r.kept[n-1]["thought"] == string(p.At("thought").Raw) {
		r.kept[n-1]["text"] = r.kept[n-1]["text"].(string) + p.At("text").Text()
		return
	}
	r.plain = plain
	if !plain {
		r.kept = append(r.kept, object{"": p.Raw})
		return
	}
	r.kept = append(r.kept, object{"text": p.At("text").Text(), "thought": string(p.At("thought").Raw)})
}

// contentEcho is the content of the parts that were kept.
func (r *reader) contentEcho() string {
	parts := []any{}
	for _, k := range r.kept {
		switch {
		case k[""] != nil:
			parts = append(parts, k[""])
		case k["thought"] == "true":
			parts = append(parts, object{"text": k["text"], "thought": true})
		case k["text"] != "":
			parts = append(parts, object{"text": k["text"]})
		}
	}
	return text(object{"role": "model", "parts": parts})
}

func (r *reader) generateContentStream(frames []gate.Frame) {
	r.t.Helper()
	id := ""
	for i, f := range frames {
		v := f.JSON()
		r.want(f.Event == "" && f.Comment == "", "chunk %d has an event or a comment", i)
		r.want(r.turn.Finish == "", "chunk %d comes after the finish (T4)", i)
		r.want(i == 0 || v.At("responseId").Text() == id, "responseId %s after %s", v.At("responseId").Raw, id)
		id = v.At("responseId").Text()
		r.generateContent(v)
	}
	r.want(r.turn.Finish != "", "no finishReason (T5)")
}
