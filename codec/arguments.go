package codec

import (
	"errors"
	"io"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Models write the arguments of a tool call as text, and chat and responses carry the text.
// The input of messages and the args of generateContent are objects: there is no place for
// text that is not one JSON object, and an empty object in its place is another call.

// AreObject reports whether arguments are one JSON object in which no name occurs twice.
func AreObject(arguments string) bool {
	v := jsontext.Value(arguments)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowInvalidUTF8(true))
}

// AreNone reports whether a call has no arguments, which is an empty object (case T10).
func AreNone(arguments string) bool {
	for i := range len(arguments) {
		switch arguments[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// WithoutArguments reports whether a part is a call of a function that has no arguments: not even an empty
// object. As the last part of a cut answer it is a call whose arguments never came.
func WithoutArguments(p *genwayv1.Part) bool {
	call := p.GetToolCall()
	return call != nil && call.Input == nil && AreNone(call.GetArgumentsJson())
}

// BrokenOff reports whether arguments are an incomplete JSON object or array. Arguments that are invalid
// JSON for another reason are not broken off.
func BrokenOff(arguments string) bool {
	arguments = strings.TrimLeft(arguments, " \t\r\n")
	if arguments == "" || arguments[0] != '{' && arguments[0] != '[' || balanced(arguments) {
		return false
	}
	d := jsontext.NewDecoder(strings.NewReader(arguments), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return errors.Is(d.SkipValue(), io.ErrUnexpectedEOF)
}

// balanced reports whether each string, object and array that begins in a JSON text ends in it. It allocates
// nothing: almost all arguments are whole.
func balanced(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
	}
	return depth == 0 && !quoted
}

// Cut reports whether a reason says that the answer is not whole, or may not be. The last call of such an
// answer may have arguments that were cut short, without the answer being wrong (case T12). It has no
// arguments if none had come.
func Cut(reason genwayv1.StopReason) bool {
	switch reason { //nolint:exhaustive // all others end a whole answer, or may
	case genwayv1.StopReason_STOP_REASON_MAX_TOKENS, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW,
		genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, genwayv1.StopReason_STOP_REASON_REFUSAL, genwayv1.StopReason_STOP_REASON_ERROR,
		genwayv1.StopReason_STOP_REASON_OTHER:
		return true
	}
	return false
}

// CutCall is why the call of a cut answer is left out by a protocol of objects.
const CutCall = "the answer was cut within the arguments of this call"

// BrokenArguments is the failure of an answer with a call whose arguments are not one JSON
// object, for callers whose protocol has no place for them.
func BrokenArguments(tool string) *fault.Error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer,
		"the model called the tool %q with arguments that are not one JSON object; this protocol cannot carry such a call; try again", tool)
}

// CheckCalls refuses an answer that claims to be complete and ends within the arguments of a call, with a
// BadUpstream error.
func CheckCalls(resp *genwayv1.GenerateTextResponse) error {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if call := p.GetToolCall(); call != nil && call.Input == nil && !Cut(c.GetStopReason()) && BrokenOff(call.GetArgumentsJson()) {
				return brokenOff(call.GetName(), resp.GetUsage())
			}
		}
	}
	return nil
}

func brokenOff(tool string, usage *genwayv1.Usage) error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer ends within the arguments of its call of the tool %q; try again", tool)
	err.Usage = usage
	return err
}

// Calls is CheckCalls for the events of one stream. The zero value is ready for use.
type Calls struct{ candidates map[int32]*openCall }

// openCall is the call of a candidate that is streamed, if one is.
type openCall struct {
	call      *genwayv1.ToolCall
	arguments strings.Builder
	// brokenOff is the tool of a call that has ended within its arguments.
	brokenOff string
}

// Check looks at the next event.
func (c *Calls) Check(ev *genwayv1.StreamGenerateTextResponse) error {
	_, err := c.check(ev)
	return err
}

// Events checks a decoder's events. It returns those to send before the error, without the end of a
// call that broke off.
func (c *Calls) Events(events []*genwayv1.StreamGenerateTextResponse) ([]*genwayv1.StreamGenerateTextResponse, error) {
	sent := len(events)
	for i, ev := range events {
		broken, err := c.check(ev)
		if err != nil {
			return events[:min(sent, i)], err
		}
		if broken {
			sent = min(sent, i)
		}
	}
	return events, nil
}

// check reports whether the event ends a call that is broken off.
func (c *Calls) check(ev *genwayv1.StreamGenerateTextResponse) (broken bool, err error) {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		call := p.PartStarted.GetPart().GetToolCall()
		open := c.candidates[p.PartStarted.GetCandidate()]
		if call == nil && open == nil {
			return false, nil
		}
		if open == nil {
			if c.candidates == nil {
				c.candidates = map[int32]*openCall{}
			}
			open = &openCall{}
			c.candidates[p.PartStarted.GetCandidate()] = open
		}
		open.call = call
		open.arguments.Reset()
		open.arguments.WriteString(call.GetArgumentsJson())
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		if piece, ok := p.PartDelta.GetDelta().(*genwayv1.PartDelta_ArgumentsJson); ok {
			if open := c.candidates[p.PartDelta.GetCandidate()]; open != nil {
				open.arguments.WriteString(piece.ArgumentsJson)
			}
		}
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		if open := c.candidates[p.PartCompleted.GetCandidate()]; open != nil && open.call != nil && BrokenOff(open.arguments.String()) {
			open.brokenOff = open.call.GetName()
			return true, nil
		}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		for _, end := range p.Completed.GetCandidates() {
			if open := c.candidates[end.GetIndex()]; open != nil && open.brokenOff != "" && !Cut(end.GetStopReason()) {
				return false, brokenOff(open.brokenOff, p.Completed.GetUsage())
			}
		}
	}
	return false, nil
}

// TextArguments is an object that holds the text of such arguments, for the history of a
// conversation: a client replays the call that it got, and the model is to see what it
// wrote.
func TextArguments(arguments string) string {
	quoted, err := jsontext.AppendQuote(nil, arguments)
	if err != nil && quoted == nil {
		quoted = []byte(`""`)
	}
	return `{"arguments_text":` + string(quoted) + `}`
}

// WrappedArguments is why such arguments count as a loss.
const WrappedArguments = "arguments that are not one JSON object go as text, in the member arguments_text"
