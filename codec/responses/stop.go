package responses

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The statuses of a response (SDK: ResponseStatus) and of its items.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusInProgress = "in_progress"
	statusFailed     = "failed"
)

// The reasons of incomplete_details that are known (SDK: ResponseIncompleteDetails).
const (
	reasonMaxTokens     = "max_output_tokens"
	reasonContentFilter = "content_filter"
)

// unfinished are the statuses of an answer that is not there yet, or never will be.
var unfinished = map[string]bool{statusInProgress: true, "queued": true, "cancelled": true}

// decodeStop reads how a response ended. The native word is the reason when the
// response is incomplete, else its status.
func decodeStop(status, reason string, called bool) (genwayv1.StopReason, string) {
	switch status {
	case statusCompleted, "":
		if called {
			return genwayv1.StopReason_STOP_REASON_TOOL_CALL, statusCompleted
		}
		return genwayv1.StopReason_STOP_REASON_END_TURN, statusCompleted
	case statusIncomplete:
		switch reason {
		case reasonMaxTokens:
			return genwayv1.StopReason_STOP_REASON_MAX_TOKENS, reason
		case reasonContentFilter:
			return genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, reason
		case "":
			return genwayv1.StopReason_STOP_REASON_OTHER, statusIncomplete
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
}

// encodeStop is the inverse of decodeStop. A reason this protocol does not know
// is written in the vendor's own words, and is never a content filter (case T6).
func encodeStop(reason genwayv1.StopReason, native string, refused bool) ending {
	switch reason { //nolint:exhaustive // all others are complete
	case genwayv1.StopReason_STOP_REASON_MAX_TOKENS, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW:
		return ending{statusIncomplete, reasonMaxTokens}
	case genwayv1.StopReason_STOP_REASON_CONTENT_FILTER:
		return ending{statusIncomplete, reasonContentFilter}
	case genwayv1.StopReason_STOP_REASON_REFUSAL:
		if refused {
			return ending{status: statusCompleted}
		}
		return ending{statusIncomplete, reasonContentFilter}
	case genwayv1.StopReason_STOP_REASON_ERROR, genwayv1.StopReason_STOP_REASON_OTHER:
		if native == statusIncomplete {
			return ending{status: statusIncomplete}
		}
		return ending{statusIncomplete, native}
	}
	return ending{status: statusCompleted}
}

// called reports whether the answer asks the caller to run a tool.
func called(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
}

func refused(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetRefusal() != nil })
}
