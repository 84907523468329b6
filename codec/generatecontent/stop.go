package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const finishReasonName = "finishReason"

// finishWords are the vendor's words for why a candidate ended (SDK type FinishReason), and those that its API
// documents besides.
var finishWords = map[string]bool{
	"STOP": true, "MAX_TOKENS": true, "SAFETY": true, "RECITATION": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true,
	"IMAGE_SAFETY": true, "IMAGE_PROHIBITED_CONTENT": true, "IMAGE_RECITATION": true, "MODEL_ARMOR": true, "CONTINUATION": true,
	"LANGUAGE": true, "MALFORMED_FUNCTION_CALL": true, "MALFORMED_RESPONSE": true, "MISSING_THOUGHT_SIGNATURE": true,
	"UNEXPECTED_TOOL_CALL": true, "TOO_MANY_TOOL_CALLS": true, "NO_IMAGE": true, "IMAGE_OTHER": true, "OTHER": true,
	"FINISH_REASON_UNSPECIFIED": true,
}

// finishReasons are the words for reasons of other protocols.
var finishReasons = map[genwayv1.StopReason]string{
	genwayv1.StopReason_STOP_REASON_UNSPECIFIED:    "STOP",
	genwayv1.StopReason_STOP_REASON_END_TURN:       "STOP",
	genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE:  "STOP",
	genwayv1.StopReason_STOP_REASON_TOOL_CALL:      "STOP",
	genwayv1.StopReason_STOP_REASON_MAX_TOKENS:     "MAX_TOKENS",
	genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW: "MAX_TOKENS",
	genwayv1.StopReason_STOP_REASON_CONTENT_FILTER: "SAFETY",
	genwayv1.StopReason_STOP_REASON_REFUSAL:        "SAFETY",
}

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
	if word == "" || finishWords[word] {
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
	own := strings.ToUpper(native)
	if finishWords[own] && (stopReason(own, true) == reason || stopReason(own, false) == reason) {
		return own, ""
	}
	if word, ok := finishReasons[reason]; ok {
		return word, ""
	}
	return "OTHER", native
}
