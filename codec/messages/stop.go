package messages

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// stopReasons is the one table of BetaStopReason. The first word of a reason is
// the one it is written as.
var stopReasons = []struct {
	word   string
	reason genwayv1.StopReason
}{
	{"end_turn", genwayv1.StopReason_STOP_REASON_END_TURN},
	{"max_tokens", genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
	{"stop_sequence", genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE},
	{"tool_use", genwayv1.StopReason_STOP_REASON_TOOL_CALL},
	{"pause_turn", genwayv1.StopReason_STOP_REASON_PAUSE},
	{"refusal", genwayv1.StopReason_STOP_REASON_REFUSAL},
	{"model_context_window_exceeded", genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW},
	{"refusal", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
}

// decodeStop gives the canonical reason of a word; OTHER for one this version does
// not know, UNSPECIFIED for none.
func decodeStop(word string) genwayv1.StopReason {
	for _, s := range stopReasons {
		if s.word == word {
			return s.reason
		}
	}
	if word == "" {
		return genwayv1.StopReason_STOP_REASON_UNSPECIFIED
	}
	return genwayv1.StopReason_STOP_REASON_OTHER
}

// ending is how a candidate ended, as unary answers and streams know it.
type ending struct {
	reason   genwayv1.StopReason
	native   string
	calls    bool // a tool call was made
	refusals bool // there was a refusal
}

// word is the stop_reason of an ending. The vendor's own word stays; a turn that
// calls tools and was not cut ends with tool_use (cases T1 and T3). A reason of
// another vendor that has no word here keeps its own, in this protocol's spelling:
// stop_reason is an open enum, and neither end_turn nor refusal would be true
// (case T6).
func (e ending) word() string {
	if e.native != "" && decodeStop(e.native) == e.reason && e.reason != genwayv1.StopReason_STOP_REASON_OTHER {
		return e.native
	}
	switch e.reason { //nolint:exhaustive // all others are in the table
	case genwayv1.StopReason_STOP_REASON_END_TURN, genwayv1.StopReason_STOP_REASON_UNSPECIFIED:
		switch {
		case e.calls:
			return "tool_use"
		case e.refusals:
			return "refusal"
		}
		return "end_turn"
	}
	for _, s := range stopReasons {
		if s.reason == e.reason {
			return s.word
		}
	}
	switch {
	case e.native != "":
		return strings.ToLower(e.native)
	case e.reason == genwayv1.StopReason_STOP_REASON_ERROR:
		return "error" // end_turn would make a failure look like an answer
	}
	return "end_turn"
}

// stopDetails gives the explanation of a refusal, and the details as written.
func stopDetails(raw jsontext.Value) (explanation string, fields []*genwayv1.NativeField) {
	if raw.Kind() != '{' {
		return "", nil
	}
	return memberText(raw, "explanation"), []*genwayv1.NativeField{whole("stop_details", raw)}
}

// stopDetails writes stop_details: null unless a refusal is explained.
func (w *writer) stopDetails(word, explanation string, fields []*genwayv1.NativeField, losses *codec.Losses) {
	if kept := native(fields, "stop_details"); kept != nil {
		w.raw("stop_details", kept, "candidates[0].native_fields")
		return
	}
	if word != "refusal" && explanation != "" {
		losses.Add("candidates[0].stop_message", "the messages protocol explains refusals only")
	}
	if word != "refusal" || explanation == "" {
		w.Null("stop_details")
		return
	}
	w.Object("stop_details")
	w.Str("type", "refusal")
	w.Null("category")
	w.Str("explanation", explanation)
	w.End()
}
