package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const stopReasonName = "stop_reason"

// decodeStop returns why a candidate ended, and the explanation of a refusal. A word that the vendor's SDK does not
// have is kept and marked as of this protocol.
func decodeStop(word string, details jsontext.Value) (reason genwayv1.StopReason, explanation string, fields []*genwayv1.NativeField) {
	reason = codec.StopReasonOf(word)
	explanation, fields = stopDetails(details)
	if codec.Unworded(reason) {
		fields = append(fields, member.Mark(protocol, stopReasonName))
	}
	return reason, explanation, fields
}

// decodeEnd returns how the candidate of a stream ended.
func decodeEnd(word string, sequence *string, details jsontext.Value) *genwayv1.CandidateEnd {
	end := &genwayv1.CandidateEnd{NativeStopReason: word, StopSequence: sequence}
	end.StopReason, end.StopMessage, end.NativeFields = decodeStop(word, details)
	return end
}

// ending is how a candidate ended, as unary answers and streams know it.
type ending struct {
	reason   genwayv1.StopReason
	native   string
	calls    bool // a tool call was made
	refusals bool // there was a refusal
}

// word is the stop_reason of an ending, and the upstream's own word where that does not say it all. The vendor's
// own word stays; a turn that calls tools and was not cut ends with tool_use (cases T1 and T3).
func (e ending) word(fields []*genwayv1.NativeField) (word, beside string) {
	if member.Marked(protocol, fields, stopReasonName) {
		return e.native, ""
	}
	switch e.reason { //nolint:exhaustive // all others are in the table
	case genwayv1.StopReason_STOP_REASON_END_TURN, genwayv1.StopReason_STOP_REASON_UNSPECIFIED:
		switch {
		case e.native == "end_turn":
		case e.calls:
			return "tool_use", ""
		case e.refusals:
			return "refusal", ""
		}
		return "end_turn", ""
	}
	if own, known := codec.VendorStopWord(protocol, e.native); known && codec.StopReasonOf(own) == e.reason {
		return own, ""
	}
	if codec.Unworded(e.reason) {
		beside = e.native
	}
	return codec.StopWord(protocol, e.reason), beside
}

// stopDetails returns the explanation of a refusal, and the details as written.
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
