package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const finishReasonName = "finishReason"

// stopReason reads a finishReason. The vendor says STOP after a function call
// too, in the same frame or a later one (case T3).
func stopReason(word string, called bool) genwayv1.StopReason {
	reason := codec.StopReasonOf(word)
	if called && reason == genwayv1.StopReason_STOP_REASON_END_TURN {
		return genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	return reason
}

// unknownWord marks a word of this protocol that this version does not know.
func unknownWord(word string) []*genwayv1.NativeField {
	if _, known := codec.VendorStopWord(protocol, word); word == "" || known {
		return nil
	}
	return []*genwayv1.NativeField{member.Mark(protocol, finishReasonName)}
}

// blocked is the reason of a candidate in an answer whose prompt was blocked. One that had
// begun by then has no reason of its own.
func blocked(reason genwayv1.StopReason) genwayv1.StopReason {
	if reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED {
		return genwayv1.StopReason_STOP_REASON_CONTENT_FILTER
	}
	return reason
}

// finishReason writes a finishReason: the vendor's own word when it means the same, else the nearest, and the
// upstream's own word where that does not say it all.
func finishReason(reason genwayv1.StopReason, native string, fields []*genwayv1.NativeField) (word, beside string) {
	if member.Marked(protocol, fields, finishReasonName) {
		return native, ""
	}
	own, known := codec.VendorStopWord(protocol, native)
	if known && (stopReason(own, true) == reason || stopReason(own, false) == reason) {
		return own, ""
	}
	if word = codec.StopWord(protocol, reason); word == "OTHER" {
		beside = native
	}
	return word, beside
}
