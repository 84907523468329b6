package upstream

import (
	"context"
	"errors"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Reasons of calls that an upstream did not answer, or that were not waited for.
const (
	ReasonDeadline    = "DEADLINE_EXCEEDED"
	ReasonCancelled   = "CANCELLED"
	ReasonUnreachable = "UPSTREAM_UNREACHABLE"
	ReasonCredentials = "UPSTREAM_CREDENTIALS" //nolint:gosec // the name of a reason, not a secret
	// ReasonAnswersFull is the reason of an answer for which the process has no memory left: nothing
	// that the upstream did wrong.
	ReasonAnswersFull = "ANSWERS_FULL"
	// ReasonNoContent is the reason of a stream that goes on and says nothing of its answer.
	ReasonNoContent = "STREAM_WITHOUT_CONTENT"
)

// Interrupted is the fault of a call whose context ended: Timeout for a deadline, and
// for a cause that is one, Cancelled for anything else.
func Interrupted(ctx context.Context) *fault.Error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) {
		return fault.Wrap(cause, fault.Timeout, ReasonDeadline, "the answer was not ready in time")
	}
	return fault.Wrap(cause, fault.Cancelled, ReasonCancelled, "the call was cancelled")
}

// Late is the fault of an upstream that did not answer in the time that it has.
func Late(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Timeout, ReasonDeadline, "the upstream did not answer in time")
}

// Unreachable is the fault of an upstream to which there is no connection.
func Unreachable(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, ReasonUnreachable, "the upstream could not be reached")
}

// CredentialsRefused is the fault of a call whose credentials the upstream refused. They are the
// gateway's, and the caller can do nothing about it.
func CredentialsRefused(cause error) *fault.Error {
	return fault.Wrap(cause, fault.BadUpstream, ReasonCredentials, "the upstream refused the gateway's credentials")
}

// Withheld returns the fault of an answer without content that a policy of the vendor ended: the prompt was blocked, or all
// candidates ended by a filter or a refusal. It is nil for all others, and has the usage that the answer reported.
func Withheld[C interface {
	GetStopReason() genwayv1.StopReason
}](blocked *genwayv1.PromptFeedback, candidates []C, usage *genwayv1.Usage) error {
	if blocked == nil && len(candidates) == 0 {
		return nil
	}
	for _, c := range candidates {
		switch c.GetStopReason() {
		case genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, genwayv1.StopReason_STOP_REASON_REFUSAL:
		default:
			return nil
		}
	}
	f := fault.New(fault.InvalidRequest, fault.ReasonContentPolicy, "the upstream refused the request by its policy for contents")
	f.Usage = usage
	return f
}
