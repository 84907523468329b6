// Package say writes answers as each vendor's service would: one description, four
// protocols, streamed or not, in the vendor's own order of events. What is special
// to a case (a spurious chunk, a missing end) the case writes itself.
//
// It must not import anything of ours but the harness beside it.
package say

import (
	"encoding/json"

	"github.com/genway/genway/internal/cases/fake"
	"github.com/genway/genway/internal/cases/gate"
)

// Turn is an answer.
type Turn struct {
	Parts []Part
	// Finish is why it ended.
	Finish Finish
}

// Finish is why an answer ended; each protocol has its own word for it.
type Finish int

// The reasons.
const (
	// Ended by itself, which for a turn with calls is the call.
	Ended Finish = iota
	// Truncated by the token limit.
	Truncated
)

// Part is a piece of an answer; the first that is set counts.
type Part struct {
	Text string
	// Call is a tool call; its Arguments may be cut.
	Call *Call
	// Thinking comes with Signature, or with none: chat and responses upstreams
	// have other places for it.
	Thinking, Signature string
	// Redacted is encrypted reasoning.
	Redacted string
}

// Call is a tool call. Signature is generateContent's, on the part of the call.
type Call struct{ ID, Name, Arguments, Signature string }

// Text is a turn of one text.
func Text(text string) Turn { return Turn{Parts: []Part{{Text: text}}} }

// Tool is a turn of one call.
func Tool(id, name, arguments string) Turn {
	return Turn{Parts: []Part{{Call: &Call{ID: id, Name: name, Arguments: arguments}}}}
}

// Think is a turn of reasoning.
func Think(text, signature string) Turn {
	return Turn{Parts: []Part{{Thinking: text, Signature: signature}}}
}

// Then says more.
func (t Turn) Then(more Turn) Turn {
	return Turn{Parts: append(append([]Part(nil), t.Parts...), more.Parts...), Finish: max(t.Finish, more.Finish)}
}

// Cut is the turn, truncated.
func (t Turn) Cut() Turn {
	t.Finish = Truncated
	return t
}

// Answer is the turn as the protocol's service says it.
func (t Turn) Answer(p gate.Protocol, streamed bool) fake.Answer {
	if streamed {
		return fake.Stream(fake.Events(t.Events(p)...)...)
	}
	return fake.JSON(t.Body(p))
}

// Body is the turn's unary body.
func (t Turn) Body(p gate.Protocol) string {
	switch p {
	case gate.Responses:
		return t.responses()
	case gate.Messages:
		return t.messages()
	case gate.GenerateContent:
		return t.generateContent()
	default:
		return t.chat()
	}
}

// Events are the data of the turn's stream.
func (t Turn) Events(p gate.Protocol) []string {
	switch p {
	case gate.Responses:
		return t.responsesEvents()
	case gate.Messages:
		return t.messagesEvents()
	case gate.GenerateContent:
		return t.generateContentEvents()
	default:
		return t.chatEvents()
	}
}

func (t Turn) calls() bool {
	for _, p := range t.Parts {
		if p.Call != nil {
			return true
		}
	}
	return false
}

// object is a JSON object under construction.
type object = map[string]any

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // the test's own value
	}
	return string(raw)
}

// halves splits a text in two, so that streams have more than one piece.
func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}
