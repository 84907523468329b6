// Package answers writes answers as each vendor's service would: one description, each
// protocol, streamed or not, in the vendor's own order of events. What is special
// to a case (a spurious chunk, a missing end) the case writes itself.
//
// It must not import anything of ours but the harness beside it.
package answers

import (
	"encoding/json"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// Reply is an answer.
type Reply struct {
	Parts []Part
	// Finish is why it ended.
	Finish Finish
}

// Finish is why an answer ended; each protocol has its own word for it.
type Finish int

// The reasons.
const (
	// Ended by itself, which for an answer with calls is the call.
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

// Call is a tool call. Signature is generateContent's and interactions', on the part of the call.
type Call struct{ ID, Name, Arguments, Signature string }

// Text is an answer of one text.
func Text(text string) Reply { return Reply{Parts: []Part{{Text: text}}} }

// Tool is an answer of one call.
func Tool(id, name, arguments string) Reply {
	return Reply{Parts: []Part{{Call: &Call{ID: id, Name: name, Arguments: arguments}}}}
}

// Think is an answer of reasoning.
func Think(text, signature string) Reply {
	return Reply{Parts: []Part{{Thinking: text, Signature: signature}}}
}

// Then is the answer with the parts of another behind its own.
func (t Reply) Then(more Reply) Reply {
	return Reply{Parts: append(append([]Part(nil), t.Parts...), more.Parts...), Finish: max(t.Finish, more.Finish)}
}

// Cut is the answer, truncated by the token limit.
func (t Reply) Cut() Reply {
	t.Finish = Truncated
	return t
}

// Answer is what an upstream of the protocol sends.
func (t Reply) Answer(p harness.Protocol, streamed bool) fake.Answer {
	if streamed {
		return fake.Stream(fake.Events(t.Events(p)...)...)
	}
	return fake.JSON(t.Body(p))
}

// Body is the answer's unary body.
func (t Reply) Body(p harness.Protocol) string {
	switch p {
	case harness.Responses:
		return t.responses()
	case harness.Messages:
		return t.messages()
	case harness.GenerateContent:
		return t.generateContent()
	case harness.Interactions:
		return t.interactions()
	default:
		return t.chat()
	}
}

// Events are the data of the answer's stream.
func (t Reply) Events(p harness.Protocol) []string {
	switch p {
	case harness.Responses:
		return t.responsesEvents()
	case harness.Messages:
		return t.messagesEvents()
	case harness.GenerateContent:
		return t.generateContentEvents()
	case harness.Interactions:
		return t.interactionsEvents()
	default:
		return t.chatEvents()
	}
}

func (t Reply) calls() bool {
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
