// Package fault is the one kind of error Genway shows to callers. The layer that
// first understands a failure makes an Error of it; every layer above passes it on
// untouched, gRPC carries it as an ErrorDetail, and each protocol's codec renders
// its kind once, in one table.
//
// It must not import net/http, grpc or any package of ours but the contract.
package fault

import (
	"errors"
	"fmt"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Stable reasons. A reason is more precise than the kind and never changes its
// meaning; clients and dashboards may match on it.
const (
	ReasonMalformedJSON    = "MALFORMED_JSON"
	ReasonMalformedForm    = "MALFORMED_FORM"
	ReasonInvalidMember    = "INVALID_MEMBER"
	ReasonMissingMember    = "MISSING_MEMBER"
	ReasonUnsupported      = "UNSUPPORTED_BY_TARGET"
	ReasonMissingKey       = "MISSING_KEY"
	ReasonInvalidKey       = "INVALID_KEY"
	ReasonWrongGroup       = "WRONG_GROUP"
	ReasonMissingVersion   = "MISSING_VERSION"
	ReasonInvalidVersion   = "INVALID_VERSION"
	ReasonModelNotFound    = "MODEL_NOT_FOUND"
	ReasonUpstreamNotFound = "UPSTREAM_NOT_FOUND"
	ReasonPathNotFound     = "PATH_NOT_FOUND"
	ReasonMethod           = "METHOD_NOT_ALLOWED"
	ReasonNotSupported     = "OPERATION_NOT_SUPPORTED"
	ReasonBodyTooLarge     = "BODY_TOO_LARGE"
	ReasonUpgradeRequired  = "UPGRADE_REQUIRED"
	ReasonCoreUnreachable  = "CORE_UNREACHABLE"
	ReasonStreamCut        = "STREAM_CUT"
	ReasonMalformedAnswer  = "MALFORMED_ANSWER"
	ReasonPanic            = "PANIC"
	ReasonOverloaded       = "OVERLOADED"
	ReasonUpstreamBusy     = "UPSTREAM_BUSY"
	ReasonShuttingDown     = "SHUTTING_DOWN"
	ReasonNoImage          = "NO_IMAGE"
	ReasonImageBlocked     = "IMAGE_BLOCKED"
	// ReasonContextLength is a prompt that is longer than the context window of the model, ReasonContentPolicy a
	// request that the vendor refuses for what it is about.
	ReasonContextLength = "CONTEXT_LENGTH_EXCEEDED"
	ReasonContentPolicy = "CONTENT_POLICY_VIOLATION"
)

// Error is a failure that a caller may see. Message, Param and Reason are
// public; Cause is not, and never leaves the process.
type Error struct {
	Kind    Kind
	Reason  string
	Message string
	// Param is the request member at fault: "messages[0].content".
	Param string
	// Fields are all members at fault, where there may be several. They cross gRPC as
	// google.rpc.BadRequest.
	Fields []Field
	// Status is the HTTP status to answer with; 0 derives it from Kind.
	Status int
	// RetryAfter is how long to wait before the next try; 0 says nothing.
	RetryAfter time.Duration
	// Quota is the limit that was reached, of RateLimited and QuotaExhausted ones; nil
	// where it is not the gateway's.
	Quota     *genwayv1.Quota
	RequestID string
	// UpstreamRequestID is the upstream's own identifier of the failed call.
	UpstreamRequestID string
	// NativeType and NativeCode are the upstream's own words.
	NativeType, NativeCode string
	// Wire is the upstream's own error body, for callers of the same protocol.
	Wire *genwayv1.WireMessage
	// Usage is what the failed call used, where the upstream reported it (case U7). It
	// is for the core's books and does not cross gRPC.
	Usage *genwayv1.Usage
	Cause error
}

// Field is a request member at fault, and what is wrong with it.
type Field struct{ Param, Message string }

// New makes an Error.
func New(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a request member that cannot be taken.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Kind: InvalidRequest, Reason: ReasonInvalidMember, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Missing is a required request member that is not there.
func Missing(param string) *Error {
	return &Error{Kind: InvalidRequest, Reason: ReasonMissingMember, Param: param, Message: "missing required member: " + param}
}

// Unsupported is a request member that the target of a translation cannot carry
// and that bears on the answer.
func Unsupported(param, format string, args ...any) *Error {
	return &Error{Kind: InvalidRequest, Reason: ReasonUnsupported, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with the internal cause kept for the log.
func Wrap(cause error, kind Kind, reason, format string, args ...any) *Error {
	e := New(kind, reason, format, args...)
	e.Cause = cause
	return e
}

// Error returns the whole text, cause included: for logs, never for callers.
func (e *Error) Error() string {
	s := e.Message
	if e.Param != "" {
		s = e.Param + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// From returns the Error in err's chain, or an internal one that withholds err's
// text from callers. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Reason: "INTERNAL", Message: InternalMessage, Cause: err}
}

// InternalMessage is all a caller learns of a fault of ours.
const InternalMessage = "internal error; quote the request id when reporting it"

// HTTPStatus is the status to answer with, before a protocol's own exceptions.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	if s, ok := statuses[e.Kind]; ok {
		return s
	}
	return 500
}

// Detail is the error as it crosses gRPC.
func (e *Error) Detail() *genwayv1.ErrorDetail {
	d := &genwayv1.ErrorDetail{
		Kind:              e.Kind,
		Reason:            e.Reason,
		Message:           e.Message,
		HttpStatus:        int32(e.Status),
		Param:             e.Param,
		RequestId:         e.RequestID,
		UpstreamRequestId: e.UpstreamRequestID,
		NativeType:        e.NativeType,
		NativeCode:        e.NativeCode,
		Wire:              e.Wire,
		Quota:             e.Quota,
	}
	if e.RetryAfter > 0 {
		d.RetryAfter = durationpb.New(e.RetryAfter)
	}
	return d
}

// FromDetail is the error as it came over gRPC.
func FromDetail(d *genwayv1.ErrorDetail) *Error {
	return &Error{
		Kind:              d.GetKind(),
		Reason:            d.GetReason(),
		Message:           d.GetMessage(),
		Status:            int(d.GetHttpStatus()),
		Param:             d.GetParam(),
		RetryAfter:        d.GetRetryAfter().AsDuration(),
		RequestID:         d.GetRequestId(),
		UpstreamRequestID: d.GetUpstreamRequestId(),
		NativeType:        d.GetNativeType(),
		NativeCode:        d.GetNativeCode(),
		Wire:              d.GetWire(),
		Quota:             d.GetQuota(),
	}
}
