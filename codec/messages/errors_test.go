package messages_test

import (
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func TestEncodeError(t *testing.T) {
	for _, tt := range []struct {
		kind   fault.Kind
		status int
		word   string
	}{
		{fault.InvalidRequest, 400, "invalid_request_error"},
		{fault.Unauthenticated, 401, "authentication_error"},
		{fault.PermissionDenied, 403, "permission_error"},
		{fault.NotFound, 404, "not_found_error"},
		{fault.MethodNotAllowed, 405, "invalid_request_error"},
		{fault.Conflict, 409, "conflict_error"},
		{fault.TooLarge, 413, "request_too_large"},
		{fault.UnsupportedMediaType, 415, "invalid_request_error"},
		{fault.Unprocessable, 422, "invalid_request_error"},
		{fault.UpgradeRequired, 426, "invalid_request_error"},
		{fault.RateLimited, 429, "rate_limit_error"},
		{fault.QuotaExhausted, 429, "billing_error"},
		{fault.Cancelled, 499, "api_error"},
		{fault.Internal, 500, "api_error"},
		{fault.NotSupported, 501, "not_supported"},
		{fault.BadUpstream, 502, "api_error"},
		{fault.Unavailable, 503, "api_error"},
		{fault.Timeout, 504, "timeout_error"},
		{fault.Overloaded, 529, "overloaded_error"},
		{genwayv1.ErrorKind_ERROR_KIND_UNSPECIFIED, 500, "api_error"},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			status, body := c.EncodeError(&fault.Error{Kind: tt.kind, Message: `so "it" is`, RequestID: "req_1", Cause: errors.New("secret")})
			want := `{"type":"error","error":{"type":"` + tt.word + `","message":"so \"it\" is"},"request_id":"req_1"}`
			if status != tt.status || string(body) != want {
				t.Errorf("got %d %s", status, body)
			}
			back := c.DecodeError(status, body)
			if back.Message != `so "it" is` || back.NativeType != tt.word || back.UpstreamRequestID != "req_1" {
				t.Errorf("came back as %+v", back)
			}
		})
	}
}

func TestDecodeError(t *testing.T) {
	body := func(word string) string {
		return `{"type": "error", "error": {"type": "` + word + `", "message": "why"}, "request_id": "req_9"}`
	}
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   fault.Kind
		text   string
		wire   bool
	}{
		{"the status", 400, body("invalid_request_error"), fault.InvalidRequest, "why", true},
		{"a status more precise than the type", 422, body("invalid_request_error"), fault.Unprocessable, "why", true},
		{"a type more precise than the status", 503, body("overloaded_error"), fault.Overloaded, "why", true},
		{"overload by status", 529, body("overloaded_error"), fault.Overloaded, "why", true},
		{"a type within 400", 400, body("billing_error"), fault.QuotaExhausted, "why", true},
		{"api_error says nothing", 500, body("api_error"), fault.BadUpstream, "why", true},
		{"a type not known", 404, body("gone_error"), fault.NotFound, "why", true},
		{"in a stream", 0, body("overloaded_error"), fault.Overloaded, "why", true},
		{"in a stream, unknown", 0, body("odd_error"), fault.BadUpstream, "why", true},
		{"the shape of another protocol", 401, `{"error":{"message":"why"}}`, fault.Unauthenticated, "why", false},
		{"not an error", 429, `{"detail":"x"}`, fault.RateLimited, "the upstream failed without saying why", false},
		{"a page", 502, `<html>`, fault.BadUpstream, "the upstream failed without saying why", false},
		{"nothing", 504, ``, fault.Timeout, "the upstream failed without saying why", false},
		{"odd types", 400, `{"error":"text"}`, fault.InvalidRequest, "the upstream failed without saying why", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := c.DecodeError(tt.status, []byte(tt.body))
			if e.Kind != tt.kind || e.Message != tt.text || (e.Wire != nil) != tt.wire {
				t.Fatalf("got %v %q wire %v", e.Kind, e.Message, e.Wire)
			}
			if e.Wire != nil {
				if _, again := c.EncodeError(e); string(again) != tt.body {
					t.Errorf("the vendor's own body became %s", again)
				}
			}
		})
	}
}

// A request that continues a message thread is refused by every upstream but the
// vendor's, with the code on which the SDK sends the whole conversation again.
func TestThreads(t *testing.T) {
	decode := func(thread string) *genwayv1.NativeField {
		t.Helper()
		req, err := c.DecodeRequest([]byte(`{"model":"m","max_tokens":1,"thread":` + thread + `,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range req.NativeFields {
			if f.Name == "thread" {
				return f
			}
		}
		return nil
	}
	if f := decode(`{"type":"create"}`); f == nil || f.Binding {
		t.Errorf("a new thread has the whole conversation: %v", f)
	}
	if f := decode(`null`); f != nil {
		t.Errorf("null says nothing: %v", f)
	}
	if f := decode(`{"type":"continue","previous_message_id":"msg_1"}`); f == nil || !f.Binding {
		t.Fatalf("a continued thread cannot be ignored: %v", f)
	}
	status, body := c.EncodeError(fault.Unsupported("thread", "thread cannot be carried"))
	want := `{"type":"error","error":{"type":"not_found_error","message":"the thread is not known here; send the whole conversation","details":{"error_code":"thread_not_found"}},"request_id":null}`
	if status != 404 || string(body) != want {
		t.Errorf("got %d %s", status, body)
	}
	e := fault.Invalid("thread", "no threads with this tool")
	e.NativeCode = "thread_unsupported_request"
	status, body = c.EncodeError(e)
	want = `{"type":"error","error":{"type":"invalid_request_error","message":"no threads with this tool","details":{"error_code":"thread_unsupported_request"}},"request_id":null}`
	if status != 400 || string(body) != want {
		t.Errorf("got %d %s", status, body)
	}
	if e := c.DecodeError(400, body); e.NativeCode != "thread_unsupported_request" {
		t.Errorf("the code became %q", e.NativeCode)
	}
	foreign := &fault.Error{Kind: fault.InvalidRequest, Message: "m", NativeCode: "unsupported_value"}
	if _, body := c.EncodeError(foreign); string(body) != `{"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":null}` {
		t.Errorf("a code of another vendor was shown: %s", body)
	}
}

func TestFailIsTheErrorEvent(t *testing.T) {
	encoder := c.NewStreamEncoder(codec.Answer{})
	frames := encoder.Fail(&fault.Error{Kind: fault.Overloaded, Message: "m", RequestID: "r"})
	if len(frames) != 1 || frames[0].Event != "error" ||
		string(frames[0].Data) != `{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}` {
		t.Errorf("got %v", frames)
	}
	wire := &genwayv1.WireMessage{Protocol: own, Json: []byte("{\n \"type\": \"error\"\n}")}
	frames = encoder.Fail(&fault.Error{Kind: fault.Overloaded, Wire: wire})
	if string(frames[0].Data) != `{"type":"error"}` {
		t.Errorf("an event's data has no line break: %s", frames[0].Data)
	}
}
