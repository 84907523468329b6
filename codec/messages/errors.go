package messages

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// reasonUpstream is the reason of an error an upstream answered with.
const reasonUpstream = "UPSTREAM_ERROR"

// errorTypes is the one table of errors: a kind, the status this protocol answers
// with where that is not the kind's own, and the vendor's type (ErrorType,
// ErrorObjectUnion and its documented errors). A kind is written as its first row, a
// type means that of its first.
var errorTypes = []struct {
	kind   fault.Kind
	status int
	word   string
}{
	{fault.InvalidRequest, 0, "invalid_request_error"},
	{fault.Unauthenticated, 0, "authentication_error"},
	{fault.PermissionDenied, 0, "permission_error"},
	{fault.NotFound, 0, "not_found_error"},
	{fault.MethodNotAllowed, 0, "invalid_request_error"},
	{fault.Conflict, 0, "conflict_error"},
	{fault.TooLarge, 0, "request_too_large"},
	{fault.UnsupportedMediaType, 0, "invalid_request_error"},
	{fault.Unprocessable, 0, "invalid_request_error"},
	{fault.UpgradeRequired, 0, "invalid_request_error"},
	{fault.RateLimited, 0, "rate_limit_error"},
	{fault.QuotaExhausted, 0, "billing_error"},
	{fault.BadUpstream, 0, "api_error"},
	{fault.Internal, 0, "api_error"},
	{fault.NotSupported, 0, "not_supported"}, // of the vendor's own gateway (Claude Code 2.1.332, GET /protocol)
	{fault.Unavailable, 0, "api_error"},
	{fault.Cancelled, 0, "api_error"},
	{fault.Timeout, 0, "timeout_error"},
	{fault.Overloaded, 529, "overloaded_error"},
}

// wireError is ErrorResponse.
//
//wire:read
type wireError struct {
	Type      string      `json:"type"`
	Error     errorObject `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorObject struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	// Details have any shape; a thread's have an error_code.
	Details jsontext.Value `json:"details"`
}

// DecodeError reads an ErrorResponse. status is 0 for an error within a
// stream or a body, whose kind only its type says.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	e := &fault.Error{Kind: fault.BadUpstream, Reason: reasonUpstream, Message: "the upstream failed without saying why"}
	if status != 0 {
		e.Kind = fault.KindOf(status)
	}
	var w wireError
	if member.DecodeAnswer(body, &w) != nil {
		return e
	}
	if w.Error.Message != "" {
		e.Message = w.Error.Message
		if w.Type == "error" {
			e.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(body)}
		}
	}
	e.NativeType, e.NativeCode = w.Error.Type, memberText(w.Error.Details, "error_code")
	e.UpstreamRequestID = w.RequestID
	for _, t := range errorTypes {
		// api_error says no more than a status does.
		if t.word == e.NativeType && (status == 0 || t.word != "api_error" && !sameType(e.Kind, t.word)) {
			e.Kind = t.kind
			break
		}
	}
	return e
}

// sameType reports whether the type follows from the kind. Then the status, being more
// precise, decides.
func sameType(kind fault.Kind, word string) bool {
	_, have := errorType(kind)
	return have == word
}

// errorType is the table's row of a kind, api_error for one it lacks.
func errorType(kind fault.Kind) (status int, word string) {
	for _, t := range errorTypes {
		if t.kind == kind {
			return t.status, t.word
		}
	}
	return 0, "api_error"
}

// EncodeError renders an ErrorResponse. What an upstream of this protocol answered
// itself is given as it is.
func (Codec) EncodeError(err *fault.Error) (status int, body []byte) {
	err = threadError(err)
	own, _ := errorType(err.Kind)
	if status = err.HTTPStatus(); err.Status == 0 && own != 0 {
		status = own
	}
	if err.Wire.GetProtocol() == protocol {
		return status, err.Wire.Json
	}
	w := answerWriter(128 + len(err.Message))
	w.errorBody(err)
	body, _ = w.Finish() // strings alone have no failure
	return status, body
}

func (w *writer) errorBody(err *fault.Error) {
	_, word := errorType(err.Kind)
	w.Begin()
	w.Str("type", "error")
	w.Object("error")
	w.Str("type", word)
	w.Str("message", err.Message)
	if err.NativeCode != "" && codeOfOurs(err) {
		w.Object("details")
		w.Str("error_code", err.NativeCode)
		w.End()
	}
	w.End()
	if err.RequestID == "" {
		w.Null("request_id")
	} else {
		w.Str("request_id", err.RequestID)
	}
	w.End()
}

// The vendor's newest SDK recognises errors of message threads by codes with this prefix
// (error.details.error_code). On thread_not_found it sends the whole conversation again, in a new
// thread; it raises thread_unsupported_request.
const (
	threadPrefix   = "thread_"
	threadNotFound = "thread_not_found"
)

// threadError sets the code of an error about the thread member: the vendor's code. An upstream without threads
// refuses the member like any that is binding (ReasonUnsupported with Param thread). Since only
// requests that continue a thread are binding, the thread is unknown, and the client can recover.
func threadError(err *fault.Error) *fault.Error {
	if err.Reason != fault.ReasonUnsupported || err.Param != "thread" || err.NativeCode != "" {
		return err
	}
	e := *err
	e.Kind, e.Status, e.NativeCode = fault.NotFound, 0, threadNotFound
	e.Message = "the thread is not known here; send the whole conversation"
	return &e
}

// codeOfOurs reports whether a code is one of this protocol rather than of an
// upstream of another.
func codeOfOurs(err *fault.Error) bool { return strings.HasPrefix(err.NativeCode, threadPrefix) }
