// Package google holds what Google's protocols have in common: how failures are worded, how offsets in texts are
// counted, and how pieces of sound are joined. The authority on it is the vendor's SDK (APIError of google.golang.org/genai) and google.rpc.
//
// Like the codecs that use it, it is pure: no net/http, no grpc, no state. It must not import any codec.
package google

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errorBody is the body of a failed call (SDK type APIError): google.rpc.Status
// in JSON, with the HTTP status as its code.
//
//wire:read,write
type errorBody struct {
	Error rpcStatus `json:"error" wire:"always"`
}

type rpcStatus struct {
	Code    int              `json:"code" wire:"always"`
	Message string           `json:"message" wire:"always"`
	Status  string           `json:"status" wire:"always"`
	Details []jsontext.Value `json:"details" wire:"by=writeDetails"`
	// own are the details to be written.
	own []errorDetail
}

// errorDetail is any of the details of google.rpc that are read here.
//
//wire:read,write
type errorDetail struct {
	Type string `json:"@type" wire:"always"`
	// ErrorInfo
	Reason string `json:"reason"`
	Domain string `json:"domain"`
	// RequestInfo
	RequestID string `json:"requestId"`
	// RetryInfo, in seconds: 3s, 0.5s.
	RetryDelay string `json:"retryDelay"`
	// BadRequest
	FieldViolations []fieldViolation `json:"fieldViolations"`
	// QuotaFailure
	Violations []quotaViolation `json:"violations"`
}

// quotaViolation is a violation of google.rpc.QuotaFailure. 64-bit integers are text in
// its JSON.
type quotaViolation struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	QuotaMetric string `json:"quotaMetric"`
	QuotaID     string `json:"quotaId"`
	QuotaValue  string `json:"quotaValue"`
}

type fieldViolation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

func (s *rpcStatus) writeDetails(w *member.Writer, name string) {
	if len(s.own) > 0 {
		member.WriteList(w, name, s.own, (*errorDetail).write)
	}
}

// encodeStatus writes the body of a failed call.
func encodeStatus(s rpcStatus) []byte {
	w := member.NewWriter(512 + 2*len(s.Message))
	(&errorBody{Error: s}).write(w)
	out, _ := w.Finish() // strings and numbers have no failure
	return out
}

const detailPrefix = "type.googleapis.com/google.rpc."

// The vendor's answer to a wrong key, and whose words its reasons and ours are.
const (
	invalidKey   = "API_KEY_INVALID"
	vendorDomain = "googleapis.com"
	ourDomain    = "genway"
)

// statusWords is the one table from kinds to the vendor's status words
// (google.rpc.Code).
var statusWords = map[fault.Kind]string{
	fault.InvalidRequest:       "INVALID_ARGUMENT",
	fault.Unauthenticated:      "UNAUTHENTICATED",
	fault.PermissionDenied:     "PERMISSION_DENIED",
	fault.NotFound:             "NOT_FOUND",
	fault.MethodNotAllowed:     "UNIMPLEMENTED",
	fault.Conflict:             "ABORTED",
	fault.TooLarge:             "INVALID_ARGUMENT",
	fault.UnsupportedMediaType: "INVALID_ARGUMENT",
	fault.Unprocessable:        "INVALID_ARGUMENT",
	fault.UpgradeRequired:      "FAILED_PRECONDITION",
	fault.RateLimited:          "RESOURCE_EXHAUSTED",
	fault.QuotaExhausted:       "RESOURCE_EXHAUSTED",
	fault.Cancelled:            "CANCELLED",
	fault.Internal:             "INTERNAL",
	fault.NotSupported:         "UNIMPLEMENTED",
	fault.BadUpstream:          "UNAVAILABLE",
	fault.Unavailable:          "UNAVAILABLE",
	fault.Overloaded:           "UNAVAILABLE",
	fault.Timeout:              "DEADLINE_EXCEEDED",
}

// Word is the vendor's status word for a failure.
func Word(err *fault.Error) string { return cmp.Or(statusWords[err.Kind], "INTERNAL") }

// Encode returns the status and the body of a failure for a caller of a protocol; a body of the same protocol in err.Wire is
// returned as it is. The vendor answers a wrong key with 400 and a missing one with 403.
func Encode(err *fault.Error, protocol genwayv1.Protocol) (int, []byte) {
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		return err.HTTPStatus(), err.Wire.GetJson()
	}
	status, word := err.HTTPStatus(), statusWords[err.Kind]
	info := errorDetail{Type: detailPrefix + "ErrorInfo", Reason: err.Reason, Domain: ourDomain}
	switch {
	case word == "" || status == 500:
		word = "INTERNAL"
	case err.Kind == fault.Unauthenticated && err.Reason == fault.ReasonInvalidKey:
		status, word, info.Reason, info.Domain = 400, "INVALID_ARGUMENT", invalidKey, vendorDomain
	case err.Kind == fault.Unauthenticated && err.Reason == fault.ReasonMissingKey:
		status, word = 403, "PERMISSION_DENIED"
	}
	var details []errorDetail
	if info.Reason != "" {
		details = append(details, info)
	}
	if err.Param != "" {
		details = append(details, errorDetail{Type: detailPrefix + "BadRequest",
			FieldViolations: []fieldViolation{{Field: err.Param, Description: err.Message}}})
	}
	if q := err.Quota; q != nil {
		details = append(details, errorDetail{Type: detailPrefix + "QuotaFailure", Violations: []quotaViolation{{
			Subject: q.GetScope(), Description: err.Message, QuotaMetric: q.GetMetric(), QuotaID: err.Reason, QuotaValue: strconv.FormatInt(q.GetLimit(), 10),
		}}})
	}
	if err.RetryAfter > 0 {
		delay := strconv.FormatFloat(err.RetryAfter.Seconds(), 'f', -1, 64) + "s"
		details = append(details, errorDetail{Type: detailPrefix + "RetryInfo", RetryDelay: delay})
	}
	if err.RequestID != "" {
		details = append(details, errorDetail{Type: detailPrefix + "RequestInfo", RequestID: err.RequestID})
	}
	return status, encodeStatus(rpcStatus{Code: status, Message: err.Message, Status: word, own: details})
}

// Decode reads the body of a failed call of a protocol. The streaming path without alt=sse
// puts it into a list. A status of 0 stands for a failure within a 200: the code
// in the body counts then.
func Decode(status int, body []byte, protocol genwayv1.Protocol) *fault.Error {
	raw := jsontext.Value(bytes.TrimSpace(body))
	if raw.Kind() == '[' {
		var bodies []jsontext.Value
		if json.Unmarshal(raw, &bodies, member.Options()) == nil && len(bodies) == 1 {
			raw = bodies[0]
		}
	}
	var b errorBody
	if json.Unmarshal(raw, &b, member.Options()) != nil || b.Error.Code == 0 && b.Error.Message == "" && b.Error.Status == "" {
		e := fault.New(fault.KindOf(status), "", "the upstream answered with status %d", status)
		if status == 0 {
			e = fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream answered with an error that could not be read")
		}
		return e
	}
	if status == 0 {
		status = b.Error.Code
	}
	e := fault.New(KindOf(status, b.Error.Status), "", "%s", b.Error.Message)
	e.NativeType = b.Error.Status
	e.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(raw)}
	for _, d := range b.Error.Details {
		readDetail(e, d)
	}
	if e.Message == "" {
		e.Message = "the upstream answered with " + strings.TrimSpace(strconv.Itoa(status)+" "+b.Error.Status)
	}
	return e
}

// readDetail takes what one detail says; details of other types say nothing here.
func readDetail(e *fault.Error, raw jsontext.Value) {
	var d errorDetail
	if json.Unmarshal(raw, &d, member.Options()) != nil {
		return
	}
	switch strings.TrimPrefix(d.Type, detailPrefix) {
	case "ErrorInfo":
		e.NativeCode = d.Reason
		if d.Domain == ourDomain {
			e.Reason = d.Reason
		}
		if d.Reason == invalidKey {
			e.Kind, e.Reason = fault.Unauthenticated, fault.ReasonInvalidKey
		}
	case "RequestInfo":
		e.UpstreamRequestID = d.RequestID
	case "RetryInfo":
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
			e.RetryAfter = delay
		}
	case "BadRequest":
		if len(d.FieldViolations) > 0 && e.Param == "" {
			e.Param = d.FieldViolations[0].Field
		}
	}
}

// KindOf derives the kind from the status, or from the word where the status says
// nothing (an error within a stream).
func KindOf(status int, word string) fault.Kind {
	if status >= 400 {
		return fault.KindOf(status)
	}
	for _, kind := range []fault.Kind{
		fault.InvalidRequest, fault.Unauthenticated, fault.PermissionDenied, fault.NotFound,
		fault.RateLimited, fault.Unavailable, fault.Timeout, fault.Cancelled,
	} {
		if statusWords[kind] == word {
			return kind
		}
	}
	return fault.BadUpstream
}
