package transcript

import (
	"encoding/json"

	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func (r *reader) generateContent(v probe.Value) {
	r.t.Helper()
	r.wantf(len(v.At("candidates").List()) == 1, "%d candidates", len(v.At("candidates").List()))
	r.wantf(v.At("responseId").Text() != "" && v.At("modelVersion").Text() != "", "responseId and modelVersion are required")
	c := v.At("candidates[0]")
	c.At("content.role").Is(r.t, `"model"`)
	for _, p := range c.At("content.parts").List() {
		r.keep(p)
		call := p.At("functionCall")
		switch {
		case call.Exists():
			args := string(call.At("args").Raw)
			r.wantf(call.At("name").Text() != "" && (args == "" || args[0] == '{'), "a call without name or args: %s", p.Raw)
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
	saying := p.At("text").Exists() && (len(members) == 1 || len(members) == 2 && p.At("thought").Exists())
	if !saying {
		r.parts = append(r.parts, sentPart{whole: p.Raw})
		return
	}
	piece := sentPart{text: p.At("text").Text(), thought: string(p.At("thought").Raw) == "true"}
	if n := len(r.parts); n > 0 && r.parts[n-1].whole == nil && r.parts[n-1].thought == piece.thought {
		r.parts[n-1].text += piece.text
		return
	}
	r.parts = append(r.parts, piece)
}

// sentPart is a part as the client sends it back: whole, or text it has put
// together.
type sentPart struct {
	whole   json.RawMessage
	text    string
	thought bool
}

// contentEcho is the content of the parts that were kept.
func (r *reader) contentEcho() string {
	parts := []any{}
	for _, p := range r.parts {
		switch {
		case p.whole != nil:
			parts = append(parts, p.whole)
		case p.thought:
			parts = append(parts, object{"text": p.text, "thought": true})
		case p.text != "":
			parts = append(parts, object{"text": p.text})
		}
	}
	return text(object{"role": "model", "parts": parts})
}

func (r *reader) generateContentStream(frames []harness.Frame) {
	r.t.Helper()
	id := ""
	for i, f := range frames {
		v := f.JSON()
		r.wantf(f.Event == "" && f.Comment == "", "chunk %d has an event or a comment", i)
		r.wantf(r.turn.Finish == "", "chunk %d comes after the finish (T4)", i)
		r.wantf(i == 0 || v.At("responseId").Text() == id, "responseId %s after %s", v.At("responseId").Raw, id)
		id = v.At("responseId").Text()
		r.generateContent(v)
	}
	r.wantf(r.turn.Finish != "", "no finishReason (T5)")
}
