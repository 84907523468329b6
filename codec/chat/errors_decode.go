package chat

import (
	"fmt"
	"strconv"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reasonUpstream is the reason of what an upstream reported of itself.
const reasonUpstream = "UPSTREAM_ERROR"

// looseError has the members of the vendor's error object, whatever they are:
// engines differ. Some have it at the top level, FastAPI has detail.
type looseError struct {
	Message    text `json:"message"`
	Detail     text `json:"detail"`
	Type       text `json:"type"`
	Param      text `json:"param"`
	Code       text `json:"code"`
	Status     text `json:"status"`
	StatusCode text `json:"status_code"`
	Error      text `json:"error"`
}

// errorKinds are kinds known by the words in type or code; they are more precise
// than a status.
var errorKinds = map[string]fault.Kind{
	"insufficient_quota":    fault.QuotaExhausted,
	"invalid_api_key":       fault.Unauthenticated,
	"authentication_error":  fault.Unauthenticated,
	"permission_error":      fault.PermissionDenied,
	"model_not_found":       fault.NotFound,
	"not_found_error":       fault.NotFound,
	"rate_limit_exceeded":   fault.RateLimited,
	"rate_limit_error":      fault.RateLimited,
	"overloaded_error":      fault.Overloaded,
	"server_overloaded":     fault.Overloaded,
	"invalid_request_error": fault.InvalidRequest,
	"BadRequestError":       fault.InvalidRequest,
}

// DecodeError implements codec.Codec. What is not JSON keeps only its status.
func (Codec) DecodeError(status int, body []byte) *fault.Error { return decodeError(status, body) }

// decodeError reads an error. A status of 0, that of an error within an answer
// or a stream, leaves the kind to the numbers and words in the body.
func decodeError(status int, body []byte) *fault.Error {
	e := &fault.Error{Reason: reasonUpstream}
	var inside int
	if raw := jsontext.Value(body); raw.IsValid(jsontext.AllowInvalidUTF8(true)) {
		inside = readError(e, raw)
		if ownShape(raw) {
			e.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: raw.Clone()}
		}
	}
	if status == 0 {
		status = inside
	}
	e.Kind = kindOf(status, e)
	if e.Kind == fault.NotFound && e.NativeCode == "model_not_found" {
		e.Reason = fault.ReasonModelNotFound
	}
	if e.Message == "" {
		e.Message = "the upstream reported an error"
		if status != 0 {
			e.Message = fmt.Sprintf("the upstream answered with status %d", status)
		}
	}
	return e
}

// ownShape reports whether a body is an error that this protocol's clients can
// read, and not merely one that could be made sense of (case F1).
func ownShape(raw jsontext.Value) bool {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(raw, &body, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return err == nil && body.Error.Message != ""
}

// kindOf refines a status by the error's own words. They do not make a failure of
// the upstream one of the caller, nor the other way round.
func kindOf(status int, e *fault.Error) fault.Kind {
	kind, known := errorKinds[e.NativeCode]
	if !known {
		kind, known = errorKinds[e.NativeType]
	}
	switch {
	case status == 0 && known:
		return kind
	case status == 0:
		return fault.BadUpstream
	case status == 402:
		return fault.QuotaExhausted
	case known && kind != fault.InvalidRequest && (status >= 500) == (kind == fault.Overloaded):
		return kind
	}
	return fault.KindOf(status)
}

// readError fills in what the body says, and gives the status it names, or 0.
func readError(e *fault.Error, raw jsontext.Value) int {
	var top, inside looseError
	if json.Unmarshal(raw, &top, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return 0
	}
	inside = top
	switch {
	case top.Error.is == isText:
		inside.Message = top.Error
	case top.Error.is == isOther && top.Error.raw.Kind() == '{':
		inside = looseError{}
		if json.Unmarshal(top.Error.raw, &inside, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
			return 0
		}
	}
	e.Message = inside.Message.spelled()
	if e.Message == "" {
		e.Message = inside.Detail.spelled()
	}
	e.NativeType, e.NativeCode, e.Param = inside.Type.spelled(), inside.Code.spelled(), inside.Param.spelled()
	for _, t := range []text{inside.StatusCode, inside.Code, inside.Status} {
		if n, err := strconv.Atoi(t.spelled()); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}
