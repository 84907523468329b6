package chat

import (
	"regexp"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// errorBody is the vendor's error: apierror.Error of the SDK. Code is a string or
// null, and a number at OpenRouter.
type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Param   *string        `json:"param"`
	Code    jsontext.Value `json:"code"`
}

// errorWords is the table from kinds to the vendor's type and code. A kind
// without a code of the vendor's has null.
var errorWords = map[fault.Kind]struct{ kind, code string }{
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
	fault.Overloaded:           {"server_error", "server_overloaded"},
	fault.Timeout:              {"server_error", "timeout"},
}

// reasonCodes are codes the vendor has for reasons more precise than the kind.
var reasonCodes = map[string]string{
	fault.ReasonMissingMember: "missing_required_parameter",
	fault.ReasonInvalidMember: "invalid_value",
	fault.ReasonUnsupported:   "unsupported_parameter",
	fault.ReasonModelNotFound: "model_not_found",
	fault.ReasonPathNotFound:  "unknown_url",
}

// vendorCode is how this vendor spells codes; other vendors' are in capitals, or
// numbers.
var vendorCode = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// EncodeError implements codec.Codec.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	return err.HTTPStatus(), encodeError(err)
}

func encodeError(err *fault.Error) []byte {
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		return err.Wire.Json
	}
	words, ok := errorWords[err.Kind]
	if !ok {
		words = errorWords[fault.Internal]
	}
	out := errorBody{Error: errorObject{Message: err.Message, Type: words.kind, Code: jsontext.Value("null")}}
	code := words.code
	if c, ok := reasonCodes[err.Reason]; ok {
		code = c
	}
	if err.Reason == fault.ReasonMissingKey {
		code = "" // the vendor has none for a key that is not there
	}
	if err.Status == 500 {
		code = "" // the vendor says no more of its own failures
	}
	if vendorCode.MatchString(err.NativeCode) {
		code = err.NativeCode
	}
	if code != "" {
		out.Error.Code = jsontext.Value(strconv.Quote(code))
	}
	if err.Param != "" {
		out.Error.Param = &err.Param
	}
	body, failed := marshal(out)
	if failed != nil {
		return []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":null}}`)
	}
	return body
}
