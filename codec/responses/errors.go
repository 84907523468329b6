package responses

import (
	"bytes"
	"regexp"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// words are the vendor's words for a kind of error.
type words struct{ kind, code string }

// table renders each kind once. The types and codes are those the vendor answers
// with; code "" is null.
var table = map[fault.Kind]words{
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
	fault.BadUpstream:          {"server_error", "bad_gateway"},
	fault.Unavailable:          {"server_error", "service_unavailable"},
	fault.Overloaded:           {"server_error", "server_is_overloaded"},
	fault.Timeout:              {"server_error", "timeout"},
}

// codes are more precise than the kind.
var codes = map[string]string{
	fault.ReasonMissingMember: "missing_required_parameter",
	fault.ReasonInvalidMember: "invalid_value",
	fault.ReasonUnsupported:   "unsupported_parameter",
	fault.ReasonMissingKey:    "",
	fault.ReasonModelNotFound: "model_not_found",
	fault.ReasonPathNotFound:  "unknown_url",
}

// kinds tells a kind by the code of an upstream's error: those of error bodies,
// and those of a response that failed (SDK: ResponseErrorCode), which but for
// three blame the request.
var kinds = map[string]fault.Kind{
	"insufficient_quota":             fault.QuotaExhausted,
	"rate_limit_exceeded":            fault.RateLimited,
	"model_not_found":                fault.NotFound,
	"invalid_api_key":                fault.Unauthenticated,
	"server_is_overloaded":           fault.Overloaded,
	"server_overloaded":              fault.Overloaded,
	"slow_down":                      fault.Overloaded,
	"server_error":                   fault.BadUpstream,
	"vector_store_timeout":           fault.Timeout,
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

func wordsOf(err *fault.Error) words {
	w, ok := table[err.Kind]
	if !ok {
		w = table[fault.Internal]
	}
	if code, ok := codes[err.Reason]; ok {
		w.code = code
	}
	if err.Status == 500 {
		w.code = "" // the vendor says no more of its own failures
	}
	if vendorCode.MatchString(err.NativeCode) {
		w.code = err.NativeCode
	}
	return w
}

// vendorCode is how this vendor spells codes; other vendors' are in capitals.
var vendorCode = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// wireError is the error member of an error body, of a failed response, and an
// error event by itself. The vendor's codes are strings, those of others numbers.
type wireError struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Param   string         `json:"param"`
	Code    jsontext.Value `json:"code"`
}

func (e *wireError) code() string {
	var s string
	if e.Code.Kind() == '"' && json.Unmarshal(e.Code, &s, member.Options()) == nil {
		return s
	}
	if e.Code.Kind() == '0' {
		return string(e.Code)
	}
	return ""
}

// DecodeError reads the body of an answer that is no success.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	err := fault.New(fault.KindOf(status), "UPSTREAM_ERROR", "the upstream answered with status %d", status)
	if status >= 400 && status <= 599 {
		err.Status = status
	}
	if !jsontext.Value(body).IsValid(member.Options()) {
		return err
	}
	raw, w, ok := errorIn(body)
	if !ok {
		return err
	}
	w.fill(err)
	if raw.Kind() == '{' && w.Message != "" {
		// Only what this protocol's clients can read is passed on (case F1).
		err.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(body)}
	}
	return err
}

// errorIn finds the error in an error body.
func errorIn(body []byte) (raw jsontext.Value, e *wireError, ok bool) {
	var w struct {
		Error jsontext.Value `json:"error"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return nil, nil, false
	}
	e, ok = parseError(w.Error)
	return w.Error, e, ok
}

// parseError takes an error as an object, or as its message alone.
func parseError(raw jsontext.Value) (*wireError, bool) {
	e := &wireError{}
	switch raw.Kind() {
	case '"':
		return e, json.Unmarshal(raw, &e.Message, member.Options()) == nil
	case '{':
		return e, json.Unmarshal(raw, e, member.Options()) == nil
	}
	return nil, false
}

// fill tells what the error says. Its words refine the status, but do not make a
// failure of the upstream one of the caller, nor the other way round.
func (e *wireError) fill(err *fault.Error) {
	if e.Message != "" {
		err.Message = e.Message
	}
	err.Param, err.NativeType, err.NativeCode = e.Param, e.Type, e.code()
	kind, known := kinds[err.NativeCode]
	if err.NativeType == "insufficient_quota" {
		kind, known = fault.QuotaExhausted, true
	}
	refined := fault.Error{Kind: kind}
	if known && (err.Status == 0 || err.Status/100 == refined.HTTPStatus()/100) {
		err.Kind = kind
	}
	if err.Kind == fault.NotFound && err.NativeCode == "model_not_found" {
		err.Reason = fault.ReasonModelNotFound
	}
}

// EncodeError renders err as the vendor does.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	if body := errorBody(err); body != nil {
		return err.HTTPStatus(), body
	}
	var w writer
	w.begin('{')
	w.key("error")
	encodeError(&w, err)
	w.end('}')
	return err.HTTPStatus(), w.buf
}

// errorBody gives the upstream's own error body, from the event of a stream if it
// came in one; nil when there is none of this protocol.
func errorBody(err *fault.Error) []byte {
	if err.Wire.GetProtocol() != protocol || len(err.Wire.GetJson()) == 0 {
		return nil
	}
	raw, event := failedIn(err.Wire.Json)
	if !event {
		return err.Wire.Json
	}
	e, ok := parseError(raw)
	if !ok {
		return nil
	}
	var w writer
	w.begin('{')
	w.key("error")
	w.begin('{')
	w.str("message", err.Message)
	kind := e.Type
	if kind == "" || kind == "error" {
		kind = wordsOf(err).kind
	}
	w.str("type", kind)
	w.strNull("param", e.Param)
	w.strNull("code", e.code())
	w.end('}')
	w.end('}')
	return w.buf
}

func encodeError(w *writer, err *fault.Error) {
	words := wordsOf(err)
	w.begin('{')
	w.str("message", err.Message)
	w.str("type", words.kind)
	w.strNull("param", err.Param)
	w.strNull("code", words.code)
	w.end('}')
}
