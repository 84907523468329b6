package generatecontent_test

import (
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func TestEncodeError(t *testing.T) {
	for _, c2 := range []struct {
		name   string
		err    fault.Error
		status int
		body   string
	}{
		{"invalid", fault.Error{Kind: fault.InvalidRequest, Message: "no", Param: "contents", Reason: "X", RequestID: "r"}, 400,
			`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"X","domain":"genway"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"contents","description":"no"}]},{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"r"}]}}`},
		{"the upstream's own 500", fault.Error{Kind: fault.BadUpstream, Status: 500, Message: "no"}, 500, `{"error":{"code":500,"message":"no","status":"INTERNAL"}}`},
		{"wrong key", fault.Error{Kind: fault.Unauthenticated, Reason: fault.ReasonInvalidKey, Message: "no"}, 400,
			`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`},
		{"no key", fault.Error{Kind: fault.Unauthenticated, Reason: fault.ReasonMissingKey}, 403,
			`{"error":{"code":403,"message":"","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"MISSING_KEY","domain":"genway"}]}}`},
		{"unauthenticated", fault.Error{Kind: fault.Unauthenticated}, 401, `{"error":{"code":401,"message":"","status":"UNAUTHENTICATED"}}`},
		{"denied", fault.Error{Kind: fault.PermissionDenied}, 403, `{"error":{"code":403,"message":"","status":"PERMISSION_DENIED"}}`},
		{"not found", fault.Error{Kind: fault.NotFound}, 404, `{"error":{"code":404,"message":"","status":"NOT_FOUND"}}`},
		{"method", fault.Error{Kind: fault.MethodNotAllowed}, 405, `{"error":{"code":405,"message":"","status":"UNIMPLEMENTED"}}`},
		{"conflict", fault.Error{Kind: fault.Conflict}, 409, `{"error":{"code":409,"message":"","status":"ABORTED"}}`},
		{"too large", fault.Error{Kind: fault.TooLarge}, 413, `{"error":{"code":413,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"media type", fault.Error{Kind: fault.UnsupportedMediaType}, 415, `{"error":{"code":415,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"unprocessable", fault.Error{Kind: fault.Unprocessable}, 422, `{"error":{"code":422,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"upgrade", fault.Error{Kind: fault.UpgradeRequired}, 426, `{"error":{"code":426,"message":"","status":"FAILED_PRECONDITION"}}`},
		{"rate", fault.Error{Kind: fault.RateLimited, RetryAfter: 1500 * time.Millisecond}, 429,
			`{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}`},
		{"quota", fault.Error{Kind: fault.QuotaExhausted}, 429, `{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED"}}`},
		{"cancelled", fault.Error{Kind: fault.Cancelled}, 499, `{"error":{"code":499,"message":"","status":"CANCELLED"}}`},
		{"internal", fault.Error{Kind: fault.Internal}, 500, `{"error":{"code":500,"message":"","status":"INTERNAL"}}`},
		{"upstream", fault.Error{Kind: fault.BadUpstream}, 502, `{"error":{"code":502,"message":"","status":"UNAVAILABLE"}}`},
		{"unavailable", fault.Error{Kind: fault.Unavailable}, 503, `{"error":{"code":503,"message":"","status":"UNAVAILABLE"}}`},
		{"overloaded", fault.Error{Kind: fault.Overloaded}, 503, `{"error":{"code":503,"message":"","status":"UNAVAILABLE"}}`},
		{"timeout", fault.Error{Kind: fault.Timeout}, 504, `{"error":{"code":504,"message":"","status":"DEADLINE_EXCEEDED"}}`},
		{"no kind", fault.Error{}, 500, `{"error":{"code":500,"message":"","status":"INTERNAL"}}`},
		{"own status", fault.Error{Kind: fault.InvalidRequest, Status: 418}, 418, `{"error":{"code":418,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"own wire", fault.Error{Kind: fault.RateLimited, Wire: &genwayv1.WireMessage{Protocol: own, Json: []byte(`{"error": 1}`)}}, 429, `{"error": 1}`},
		{"foreign wire", fault.Error{Kind: fault.RateLimited, Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(`{}`)}}, 429,
			`{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED"}}`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			status, body := c.EncodeError(&c2.err)
			if status != c2.status || string(body) != c2.body {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// TestErrorsRoundTrip: what a caller gets of us says the same to another gateway.
func TestErrorsRoundTrip(t *testing.T) {
	for _, e := range []*fault.Error{
		{Kind: fault.Unauthenticated, Reason: fault.ReasonInvalidKey, Message: "no"},
		{Kind: fault.NotFound, Reason: fault.ReasonModelNotFound, Message: "no", Param: "model"},
		{Kind: fault.RateLimited, Message: "no", RetryAfter: 2 * time.Second},
	} {
		got := c.DecodeError(c.EncodeError(e))
		if got.Kind != e.Kind || got.Reason != e.Reason || got.Message != e.Message || got.Param != e.Param || got.RetryAfter != e.RetryAfter {
			t.Errorf("%+v became %+v", e, got)
		}
	}
}
