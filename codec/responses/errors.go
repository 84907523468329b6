package responses

import (
	"bytes"

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
	fault.InvalidRequest:       {"invalid_request_error", "invalid_value"},
	fault.Unauthenticated:      {"invalid_request_error", "invalid_api_key"},
	fault.PermissionDenied:     {"invalid_request_error", "insufficient_permissions"},
	fault.NotFound:             {"invalid_request_error", "not_found"},
	fault.MethodNotAllowed:     {"invalid_request_error", "method_not_supported"},
	fault.Conflict:             {"invalid_request_error", "conflict"},
	fault.TooLarge:             {"invalid_request_error", "request_too_large"},
	fault.UnsupportedMediaType: {"invalid_request_error", "unsupported_content_type"},
	fault.Unprocessable:        {"invalid_request_error", "unprocessable_entity"},
	fault.UpgradeRequired:      {"invalid_request_error", "upgrade_required"},
	fault.RateLimited:          {"requests", "rate_limit_exceeded"},
	fault.QuotaExhausted:       {"insufficient_quota", "insufficient_quota"},
	fault.Cancelled:            {"invalid_request_error", "request_cancelled"},
	fault.Internal:             {"server_error", "server_error"},
	fault.BadUpstream:          {"server_error", "server_error"},
	fault.Unavailable:          {"server_error", "service_unavailable"},
	fault.Overloaded:           {"server_error", "server_is_overloaded"},
	fault.Timeout:              {"server_error", "timeout"},
}

// codes are more precise than the kind.
var codes = map[string]string{
	fault.ReasonMalformedJSON: "",
	fault.ReasonMissingMember: "missing_required_parameter",
	fault.ReasonUnsupported:   "unsupported_parameter",
	fault.ReasonMissingKey:    "",
	fault.ReasonModelNotFound: "model_not_found",
	fault.ReasonPathNotFound:  "unknown_url",
}

// kinds refines a kind by the code of an upstream's error.
var kinds = map[string]fault.Kind{
	"insufficient_quota":   fault.QuotaExhausted,
	"rate_limit_exceeded":  fault.RateLimited,
	"model_not_found":      fault.NotFound,
	"invalid_api_key":      fault.Unauthenticated,
	"server_is_overloaded": fault.Overloaded,
	"slow_down":            fault.Overloaded,
	"invalid_prompt":       fault.InvalidRequest,
	"server_error":         fault.BadUpstream,
	"vector_store_timeout": fault.Timeout,
}

func wordsOf(err *fault.Error) words {
	w, ok := table[err.Kind]
	if !ok {
		w = table[fault.Internal]
	}
	if code, ok := codes[err.Reason]; ok {
		w.code = code
	}
	return w
}

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
	err.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(body)}
	if w, ok := errorIn(body); ok {
		w.fill(err)
	}
	return err
}

// errorIn finds the error in an error body.
func errorIn(body []byte) (*wireError, bool) {
	var w struct {
		Error jsontext.Value `json:"error"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return nil, false
	}
	return parseError(w.Error)
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

func (e *wireError) fill(err *fault.Error) {
	if e.Message != "" {
		err.Message = e.Message
	}
	err.Param, err.NativeType, err.NativeCode = e.Param, e.Type, e.code()
	if kind, ok := kinds[err.NativeCode]; ok {
		err.Kind = kind
	}
	if err.NativeType == "insufficient_quota" {
		err.Kind = fault.QuotaExhausted
	}
	if err.NativeCode == "model_not_found" {
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
	w.str("message", e.Message)
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

// failure is the fault of a response that failed or of an error event; body is
// kept whole.
func failure(raw jsontext.Value, body []byte) *fault.Error {
	err := fault.New(fault.BadUpstream, "UPSTREAM_ERROR", "the upstream failed to generate an answer")
	err.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(body)}
	if e, ok := parseError(raw); ok {
		e.fill(err)
	}
	return err
}

// failedIn finds the error in the body of a failed response or in a stream's
// event; ok is false when the body is neither.
func failedIn(body []byte) (raw jsontext.Value, ok bool) {
	var w struct {
		Object   string         `json:"object"`
		Type     string         `json:"type"`
		Error    jsontext.Value `json:"error"`
		Response struct {
			Error jsontext.Value `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return nil, false
	}
	switch {
	case w.Type == eventFailed:
		return w.Response.Error, true
	case w.Type == eventError && w.Error.Kind() != '{':
		return body, true
	case w.Type == eventError, w.Object == "response":
		return w.Error, true
	}
	return nil, false
}

// failingEvent names the event of a stream that an error came in.
func failingEvent(body []byte) (string, bool) {
	var w struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return "", false
	}
	return w.Type, w.Type == eventFailed || w.Type == eventError
}

// streamCodes are the vendor's codes of a response that failed (SDK:
// ResponseErrorCode), where they are not those of an error body.
var streamCodes = map[fault.Kind]string{
	fault.InvalidRequest: "invalid_prompt",
	fault.Unprocessable:  "invalid_prompt",
	fault.BadUpstream:    "server_error",
	fault.Internal:       "server_error",
	fault.Timeout:        "server_error",
	fault.Unavailable:    "server_error",
}

// failedError is the error member of a response that failed.
func failedError(err *fault.Error) []byte {
	code, ok := streamCodes[err.Kind]
	if !ok {
		code = wordsOf(err).code
	}
	if code == "" {
		code = "server_error"
	}
	var w writer
	w.begin('{')
	w.str("code", code)
	w.str("message", err.Message)
	w.end('}')
	return w.buf
}

// ErrorUsage gives the usage that a response reported although it failed (case
// U7), nil when the error has none.
func (Codec) ErrorUsage(err *fault.Error) *genwayv1.Usage {
	if err == nil || err.Wire.GetProtocol() != protocol {
		return nil
	}
	var w struct {
		Usage    *wireUsage `json:"usage"`
		Response struct {
			Usage *wireUsage `json:"usage"`
		} `json:"response"`
	}
	if json.Unmarshal(err.Wire.GetJson(), &w, member.Options()) != nil {
		return nil
	}
	if w.Response.Usage != nil {
		return w.Response.Usage.canonical()
	}
	return w.Usage.canonical()
}
