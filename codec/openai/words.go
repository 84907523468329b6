// Package openai holds how one vendor words its failures: the error object that its
// chat completions, responses and images have in common, both directions. The
// authority on it is the vendor's SDK (apierror.Error, ResponseErrorCode of openai-go
// v3) and, for what other engines make of it, their own servers.
//
// Like the codecs that use it, it is pure: no net/http, no grpc, no state. It must
// not import any codec.
package openai

import (
	"regexp"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
)

// words is the table from kinds to the vendor's type and code. A kind without a
// code of the vendor's has null.
var words = map[fault.Kind]struct{ kind, code string }{
	fault.InvalidRequest:       {"invalid_request_error", ""},
	fault.Unauthenticated:      {"invalid_request_error", "invalid_api_key"},
	fault.PermissionDenied:     {"invalid_request_error", "insufficient_permissions"},
	fault.NotFound:             {"invalid_request_error", ""},
	fault.MethodNotAllowed:     {"invalid_request_error", "method_not_supported"},
	fault.Conflict:             {"invalid_request_error", "conflict"},
	fault.TooLarge:             {"invalid_request_error", "request_too_large"},
	fault.UnsupportedMediaType: {"invalid_request_error", "unsupported_content_type"},
	fault.Unprocessable:        {"invalid_request_error", "unprocessable_entity"},
	fault.UpgradeRequired:      {"invalid_request_error", "upgrade_required"},
	fault.RateLimited:          {"requests", "rate_limit_exceeded"},
	fault.QuotaExhausted:       {"insufficient_quota", "insufficient_quota"},
	fault.Cancelled:            {"invalid_request_error", "request_cancelled"},
	fault.Internal:             {"server_error", ""},
	fault.NotSupported:         {"server_error", "not_supported"},
	fault.BadUpstream:          {"server_error", "bad_gateway"},
	fault.Unavailable:          {"server_error", "service_unavailable"},
	fault.Overloaded:           {"server_error", "server_overloaded"},
	fault.Timeout:              {"server_error", "timeout"},
}

// reasonCodes are codes the vendor has for reasons more precise than the kind; it
// has none for a key that is not there.
var reasonCodes = map[string]string{
	fault.ReasonMissingMember: "missing_required_parameter",
	fault.ReasonInvalidMember: "invalid_value",
	fault.ReasonUnsupported:   "unsupported_parameter",
	fault.ReasonMissingKey:    "",
	fault.ReasonModelNotFound: "model_not_found",
	fault.ReasonPathNotFound:  "unknown_url",
}

// vendorCode is how this vendor spells codes; other vendors' are in capitals, or
// numbers.
var vendorCode = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Words returns the type and the code of an error; an empty code is null.
func Words(err *fault.Error) (kind, code string) {
	w, ok := words[err.Kind]
	if !ok {
		w = words[fault.Internal]
	}
	if code, ok := reasonCodes[err.Reason]; ok {
		w.code = code
	}
	if err.Kind == fault.RateLimited && err.Quota.GetMetric() == "tokens" {
		w.kind = "tokens" // as the vendor names which of its limits it was
	}
	if err.Status == 500 {
		w.code = "" // the vendor says no more of its own failures
	}
	if vendorCode.MatchString(err.NativeCode) {
		w.code = err.NativeCode
	}
	return w.kind, w.code
}

// Encode returns the body of an error in the words of Words:
//
//	{"error":{"message":"…","type":"…","param":null,"code":null}}
func Encode(err *fault.Error) []byte {
	kind, code := Words(err)
	return Body(err.Message, kind, err.Param, code)
}

// Body returns the body of an error in words of the caller's. An empty param or code
// is null.
func Body(message, kind, param, code string) []byte {
	b := member.AppendQuote([]byte(`{"error":{"message":`), message)
	b = member.AppendQuote(append(b, `,"type":`...), kind)
	b = appendNullable(append(b, `,"param":`...), param)
	b = appendNullable(append(b, `,"code":`...), code)
	return append(b, "}}"...)
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return member.AppendQuote(b, s)
}
