package openai

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
