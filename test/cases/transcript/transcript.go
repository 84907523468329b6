// Package transcript reads an answer as the strictest client of its protocol would: it
// folds the events of a stream, or takes a body apart, into what the model answered,
// and fails the test at anything some client cannot read: events out of order,
// overlapping blocks, a second finish, a gap in an index. It shares no code with
// the codecs, which is what makes it a witness.
//
// It must not import anything of ours but the harness beside it.
package transcript

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/cases/harness"
)

// Transcript is what a model answered.
type Transcript struct {
	Text string
	// Thinking is the reasoning, summaries included.
	Thinking string
	// Signatures are all signature-like members in order: signatures, encrypted
	// reasoning, redacted data, thought signatures.
	Signatures []string
	Calls      []Call
	// Echo is the answer as its client sends it back in the next request: the
	// assistant's message, content or, comma-separated, items or steps.
	Echo string
	// Finish is the protocol's own word: finish_reason, stop_reason, finishReason;
	// for responses the status, or the reason of an incomplete one; for interactions the status.
	Finish string
}

// Call is a tool call. Arguments is the JSON text as it came.
type Call struct{ ID, Name, Arguments string }

// Read reads an answer, streamed or not.
func Read(t *testing.T, p harness.Protocol, a harness.Answer, streamed bool) Transcript {
	t.Helper()
	if a.Status != 200 {
		t.Fatalf("%s: status %d: %s", p, a.Status, a.Body)
	}
	r := &reader{t: t, message: object{}}
	var frames []harness.Frame
	if streamed {
		frames = events(a.Frames(), p)
	}
	switch {
	case p == harness.Chat && streamed:
		r.chatStream(frames)
	case p == harness.Chat:
		r.chat(a.JSON())
	case p == harness.Messages && streamed:
		r.messagesStream(frames)
	case p == harness.Messages:
		r.messages(a.JSON())
	case p == harness.Responses && streamed:
		r.responsesStream(frames)
	case p == harness.Responses:
		r.responses(a.JSON())
	case p == harness.Interactions && streamed:
		r.interactionsStream(frames)
	case p == harness.Interactions:
		r.interactions(a.JSON())
	case streamed:
		r.generateContentStream(frames)
	default:
		r.generateContent(a.JSON())
	}
	if t.Failed() {
		t.Logf("%s, streamed %t:\n%s", p, streamed, a.Body)
	}
	return r.turn
}

// events leaves out what keeps the connection open. generateContent's own clients
// fail on comments, so that there it may be bare newlines only.
func events(frames []harness.Frame, p harness.Protocol) []harness.Frame {
	var list []harness.Frame
	for _, f := range frames {
		if f.Event != "ping" && (f.Comment == "" || f.Comment != "\n" && p == harness.GenerateContent) {
			list = append(list, f)
		}
	}
	return list
}

type reader struct {
	t    *testing.T
	turn Transcript
	// kept are the blocks or calls that a client gathers from a stream, parts those
	// of generateContent.
	kept  []object
	parts []sentPart
	// message and details are those of a chat message's own.
	message object
	details []json.RawMessage
}

type object = map[string]any

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // values that came out of JSON
	}
	return string(raw)
}

func (r *reader) signature(s string) {
	if s != "" {
		r.turn.Signatures = append(r.turn.Signatures, s)
	}
}

func (r *reader) wantf(ok bool, format string, args ...any) {
	r.t.Helper()
	if !ok {
		r.t.Errorf(format, args...)
	}
}
