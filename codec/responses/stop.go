package responses

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The statuses of a response (SDK: ResponseStatus) and of its items.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusInProgress = "in_progress"
	statusFailed     = "failed"
)

// reasonContentFilter is the reason of an answer to a prompt that was blocked (SDK: ResponseIncompleteDetails).
const reasonContentFilter = "content_filter"

// unfinished are the statuses of an answer that is not there yet, or never will be.
var unfinished = map[string]bool{statusInProgress: true, "queued": true, "cancelled": true}

// reasonName marks a reason of incomplete_details that the vendor's SDK does not have.
const reasonName = "incomplete_details.reason"

// decodeStop reads how a response ended. The native word is the reason when the
// response is incomplete, else its status.
func decodeStop(status, reason string, called bool) (stop genwayv1.StopReason, word string, fields []*genwayv1.NativeField) {
	stop, word = stopReason(status, reason, called)
	if codec.Unworded(stop) && reason != "" {
		fields = []*genwayv1.NativeField{member.Mark(protocol, reasonName)}
	}
	return stop, word, fields
}

func stopReason(status, reason string, called bool) (genwayv1.StopReason, string) {
	switch status {
	case statusCompleted, "":
		if called {
			return genwayv1.StopReason_STOP_REASON_TOOL_CALL, statusCompleted
		}
		return genwayv1.StopReason_STOP_REASON_END_TURN, statusCompleted
	case statusIncomplete:
		if reason == "" {
			return genwayv1.StopReason_STOP_REASON_OTHER, statusIncomplete
		}
		if known := codec.StopReasonOf(reason); codec.Cut(known) {
			return known, reason
		}
		return genwayv1.StopReason_STOP_REASON_OTHER, reason
	}
	return genwayv1.StopReason_STOP_REASON_OTHER, status
}

// ending is how a response ends on the wire.
type ending struct {
	status string
	// reason of incomplete_details; "" is null.
	reason string
	// native is the upstream's own word, where the reason does not say it all.
	native string
}

// encodeStop is the inverse of decodeStop. A reason this protocol does not know is never a content filter
// (case T6).
func encodeStop(reason genwayv1.StopReason, native string, fields []*genwayv1.NativeField, refused bool) ending {
	switch {
	case reason == genwayv1.StopReason_STOP_REASON_REFUSAL && refused:
		return ending{status: statusCompleted}
	case codec.Unworded(reason) && native == statusIncomplete: // of a response that says no more
		return ending{status: statusIncomplete}
	case member.Marked(protocol, fields, reasonName):
		return ending{status: statusIncomplete, reason: native}
	}
	end := ending{status: statusCompleted, reason: codec.StopWord(protocol, reason)}
	if end.reason != "" {
		end.status = statusIncomplete
		if codec.Unworded(reason) {
			end.native = native
		}
	}
	return end
}

// called reports whether the answer asks the caller to run a tool.
func called(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
}

func refused(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetRefusal() != nil })
}
