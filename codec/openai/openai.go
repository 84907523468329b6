// Package openai holds how one vendor words its failures: the error object that its
// chat completions, responses and images have in common, both directions. The
// authority on it is the vendor's SDK (apierror.Error, ResponseErrorCode of openai-go
// v3) and, for what other engines make of it, their own servers.
//
// Like the codecs that use it, it is pure: no net/http, no grpc, no state. It must
// not import any codec.
package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	fault.ReasonImageBlocked:  "moderation_blocked",
	fault.ReasonContextLength: "context_length_exceeded",
	fault.ReasonContentPolicy: "content_policy_violation",
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

// reasonUpstream is the reason of what an upstream reported of itself.
const reasonUpstream = "UPSTREAM_ERROR"

// kinds are kinds known by a code or a type. Those of a response that failed (SDK:
// ResponseErrorCode) blame the request but for a few.
var kinds = map[string]fault.Kind{
	"insufficient_quota":             fault.QuotaExhausted,
	"invalid_api_key":                fault.Unauthenticated,
	"authentication_error":           fault.Unauthenticated,
	"permission_error":               fault.PermissionDenied,
	"model_not_found":                fault.NotFound,
	"not_found_error":                fault.NotFound,
	"rate_limit_exceeded":            fault.RateLimited,
	"rate_limit_error":               fault.RateLimited,
	"overloaded_error":               fault.Overloaded,
	"server_is_overloaded":           fault.Overloaded,
	"server_overloaded":              fault.Overloaded,
	"slow_down":                      fault.Overloaded,
	"vector_store_timeout":           fault.Timeout,
	"server_error":                   fault.BadUpstream,
	"invalid_request_error":          fault.InvalidRequest,
	"BadRequestError":                fault.InvalidRequest,
	"context_length_exceeded":        fault.InvalidRequest,
	"invalid_prompt":                 fault.InvalidRequest,
	"data_residency_mismatch":        fault.InvalidRequest,
	"bio_policy":                     fault.InvalidRequest,
	"misalignment_policy_violation":  fault.InvalidRequest,
	"invalid_image":                  fault.InvalidRequest,
	"invalid_image_format":           fault.InvalidRequest,
	"invalid_base64_image":           fault.InvalidRequest,
	"invalid_image_url":              fault.InvalidRequest,
	"image_too_large":                fault.InvalidRequest,
	"image_too_small":                fault.InvalidRequest,
	"image_parse_error":              fault.InvalidRequest,
	"image_content_policy_violation": fault.InvalidRequest,
	"invalid_image_mode":             fault.InvalidRequest,
	"image_file_too_large":           fault.InvalidRequest,
	"unsupported_image_media_type":   fault.InvalidRequest,
	"empty_image_file":               fault.InvalidRequest,
	"failed_to_download_image":       fault.InvalidRequest,
	"image_file_not_found":           fault.InvalidRequest,
}

// Decode reads the body of an answer that is no success, or, with the status 0, an
// error within an answer or a stream, whose status is what its own numbers say. What
// is not JSON keeps only its status. A body that clients of the protocol can read
// stays whole in Wire, and one that merely could be made sense of does not (case F1).
func Decode(status int, body []byte, protocol genwayv1.Protocol) *fault.Error {
	err := &fault.Error{Reason: reasonUpstream, Message: "the upstream reported an error"}
	if status >= 400 && status <= 599 {
		err.Status = status
	}
	if status != 0 {
		err.Message = fmt.Sprintf("the upstream answered with status %d", status)
	}
	err.Kind = kindOf(status, err)
	if raw := jsontext.Value(body); raw.IsValid(loose) && Fill(err, raw) && ownShape(raw) {
		err.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: raw.Clone()}
	}
	return err
}

// Fill takes over the texts of an error: a body, the error object in one, or only its
// message. Its words refine the status that err has, but do not make a failure of the
// upstream one of the caller, nor the other way round. It reports whether raw is any
// of that.
func Fill(err *fault.Error, raw jsontext.Value) bool {
	texts, inside, ok := read(raw)
	if !ok {
		return false
	}
	if texts.message != "" {
		err.Message = texts.message
	}
	err.NativeType, err.NativeCode, err.Param = texts.kind, texts.code, texts.param
	status := err.Status
	if status == 0 {
		status = inside
	}
	err.Kind = kindOf(status, err)
	if err.Kind == fault.NotFound && err.NativeCode == "model_not_found" {
		err.Reason = fault.ReasonModelNotFound
	}
	return true
}

// kindOf refines a status by the error's own words, as far as they are more precise.
func kindOf(status int, err *fault.Error) fault.Kind {
	kind, known := kinds[err.NativeCode]
	if !known {
		kind, known = kinds[err.NativeType]
	}
	refined := fault.Error{Kind: kind}
	switch {
	case status == 0 && known:
		return kind
	case status == 0:
		return fault.BadUpstream
	case status == 402:
		return fault.QuotaExhausted
	case known && kind != fault.InvalidRequest && kind != fault.BadUpstream && status/100 == refined.HTTPStatus()/100:
		return kind
	}
	return fault.KindOf(status)
}

// loose are the options errors are read with: some engines are careless.
var loose = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// errorTexts are the texts of an error.
type errorTexts struct{ message, kind, param, code string }

// object has the members of the vendor's error object, whatever they are: engines
// differ. Some have it at the top level, FastAPI has detail.
type object struct {
	Message    jsontext.Value `json:"message"`
	Detail     jsontext.Value `json:"detail"`
	Type       jsontext.Value `json:"type"`
	Param      jsontext.Value `json:"param"`
	Code       jsontext.Value `json:"code"`
	Status     jsontext.Value `json:"status"`
	StatusCode jsontext.Value `json:"status_code"`
	Error      jsontext.Value `json:"error"`
}

// read returns the texts of an error, and the status that it names, or 0.
func read(raw jsontext.Value) (s errorTexts, status int, ok bool) {
	if raw.Kind() == '"' {
		return errorTexts{message: spelled(bytes.TrimSpace(raw))}, 0, true
	}
	var o object
	if raw.Kind() != '{' || json.Unmarshal(raw, &o, loose) != nil {
		return errorTexts{}, 0, false
	}
	switch inner := o.Error; inner.Kind() {
	case '"':
		o.Message = inner
	case '{':
		o = object{}
		if json.Unmarshal(inner, &o, loose) != nil {
			return errorTexts{}, 0, false
		}
	}
	s = errorTexts{spelled(o.Message), spelled(o.Type), spelled(o.Param), spelled(o.Code)}
	if s.message == "" {
		s.message = spelled(o.Detail)
	}
	for _, number := range []jsontext.Value{o.StatusCode, o.Code, o.Status} {
		if n, err := strconv.Atoi(spelled(number)); err == nil && n >= 400 && n < 600 {
			return s, n, true
		}
	}
	return s, 0, true
}

// spelled is the text of a string, and any other value as it is spelt; null and
// nothing are empty.
func spelled(raw jsontext.Value) string {
	switch raw.Kind() {
	case 0, 'n':
		return ""
	case '"':
		text, _ := jsontext.AppendUnquote(nil, raw)
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// ownShape reports whether a body is an error object that the vendor's clients read.
func ownShape(raw jsontext.Value) bool {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	return json.Unmarshal(raw, &body, loose) == nil && body.Error.Message != ""
}

// toolTokens is the usage of a tool's own model: svg_usage (SDK: ImagesResponseSvgUsage), and image_gen of tool_usage
// (SDK: BetaResponseToolUsageImageGen).
type toolTokens struct {
	Model           string `json:"model"`
	InputTokens     int64  `json:"input_tokens"`
	OutputTokens    int64  `json:"output_tokens"`
	TotalTokens     int64  `json:"total_tokens"`
	CachedTokens    *int64 `json:"cached_tokens"`
	ReasoningTokens *int64 `json:"reasoning_tokens"`
	Input           struct {
		ImageTokens *int64 `json:"image_tokens"`
	} `json:"input_tokens_details"`
	Output struct {
		ImageTokens *int64 `json:"image_tokens"`
	} `json:"output_tokens_details"`
}

// ModelUsage reads what a tool's own model used beside an answer: one usage, or none where nothing was used. model is
// the model's name where the usage has none.
func ModelUsage(kind, model string, usage jsontext.Value) []*genwayv1.ModelUsage {
	if len(usage) == 0 { // as of nearly all answers
		return nil
	}
	var t toolTokens
	member.Fit(usage, &t)
	if t.InputTokens == 0 && t.OutputTokens == 0 && t.TotalTokens == 0 {
		return nil
	}
	return []*genwayv1.ModelUsage{{Kind: kind, Model: cmp.Or(t.Model, model), Usage: codec.Completed(&genwayv1.Usage{
		InputTokens: t.InputTokens, OutputTokens: t.OutputTokens, TotalTokens: t.TotalTokens, CacheReadInputTokens: t.CachedTokens,
		ThinkingTokens: t.ReasoningTokens, InputImageTokens: t.Input.ImageTokens, OutputImageTokens: t.Output.ImageTokens,
	})}}
}
