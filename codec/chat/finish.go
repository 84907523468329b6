package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const finishReasonName = "finish_reason"

// ending is how a choice ended, read from its members.
type ending struct {
	reason   genwayv1.StopReason
	native   string
	sequence *string
	fields   []*genwayv1.NativeField
}

// decodeFinish reads how a choice ended. An answer with calls that ended
// regularly ended with the calls: the vendor itself says stop for a call that was
// demanded by name. An engine that leaves the word out of a whole answer means
// that it is whole. A word for a failure, or that is not known, is kept and marked as of
// this protocol: the vendor's SDK has no word for those.
func decodeFinish(word string, stop, nativeWord text, calls bool) ending {
	end := ending{native: word, reason: codec.StopReasonOf(word)}
	if codec.Unworded(end.reason) {
		end.fields = append(end.fields, mark(finishReasonName))
	}
	switch {
	case calls && (end.reason == genwayv1.StopReason_STOP_REASON_END_TURN || word == ""):
		end.reason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	case word == "":
		end.reason = genwayv1.StopReason_STOP_REASON_END_TURN
	}
	switch stop.is {
	case isText:
		end.sequence = &stop.s
		if end.reason == genwayv1.StopReason_STOP_REASON_END_TURN {
			end.reason = genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE
		}
	case isOther:
		end.fields = append(end.fields, native("stop_reason", stop.raw))
	case absent, isNull, isParts:
	}
	if nativeWord.is == isText || nativeWord.is == isOther {
		end.fields = append(end.fields, native("native_finish_reason", nativeWord.json()))
	}
	return end
}

// finishWord returns the finish_reason of a candidate and, where that does not say
// it all, the vendor's own word beside it.
func finishWord(reason genwayv1.StopReason, nativeWord string, fields []*genwayv1.NativeField, calls, deprecated bool) (word, beside string) {
	if marked(fields, finishReasonName) {
		return nativeWord, ""
	}
	word = codec.StopWord(protocol, reason)
	regular := reason == genwayv1.StopReason_STOP_REASON_END_TURN || reason == genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE ||
		reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED
	if calls && regular {
		word = "tool_calls"
	}
	if word == "tool_calls" && (deprecated || nativeWord == functionCallName) {
		word = functionCallName
	}
	switch reason {
	case genwayv1.StopReason_STOP_REASON_ERROR, genwayv1.StopReason_STOP_REASON_OTHER, genwayv1.StopReason_STOP_REASON_PAUSE,
		genwayv1.StopReason_STOP_REASON_REFUSAL, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW:
	default:
		return word, ""
	}
	if nativeWord == word || member.Native(protocol, fields, "native_finish_reason") != nil {
		return word, ""
	}
	return word, nativeWord
}

// hasCalls reports whether the parts have a tool call.
func hasCalls(parts []*genwayv1.Part) bool {
	for _, p := range parts {
		if p.GetToolCall() != nil || p.GetOpaque() != nil && marked(p.NativeFields, toolCallsName) {
			return true
		}
	}
	return false
}
