package codec

import (
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

// Cut reports whether a reason says that the answer is not whole. The last call of such an
// answer may have arguments that were cut short, without the answer being wrong (case T12).
func Cut(reason genwayv1.StopReason) bool {
	switch reason { //nolint:exhaustive // all others end a whole answer, or may
	case genwayv1.StopReason_STOP_REASON_MAX_TOKENS, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW,
		genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, genwayv1.StopReason_STOP_REASON_REFUSAL, genwayv1.StopReason_STOP_REASON_ERROR:
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
