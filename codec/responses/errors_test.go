package responses_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

func TestErrorsAreTheVendors(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    *fault.Error
		status int
		body   string
	}{
		{"missing", fault.Missing("model"), 400, `{"error":{"message":"missing required member: model","type":"invalid_request_error","param":"model","code":"missing_required_parameter"}}`},
		{"a code of the vendor's", &fault.Error{Kind: fault.InvalidRequest, Reason: fault.ReasonInvalidMember, NativeCode: "previous_response_not_found", Message: "no"}, 400, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"previous_response_not_found"}}`},
		{"a code of another's", &fault.Error{Kind: fault.RateLimited, NativeCode: "RATE_LIMITED", Message: "no"}, 429, `{"error":{"message":"no","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"the vendor's own 500", &fault.Error{Kind: fault.BadUpstream, Status: 500, Message: "no"}, 500, `{"error":{"message":"no","type":"server_error","param":null,"code":null}}`},
		{"malformed", fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "bad"), 400, `{"error":{"message":"bad","type":"invalid_request_error","param":null,"code":null}}`},
		{"unsupported", fault.Unsupported("stop", "no"), 400, `{"error":{"message":"no","type":"invalid_request_error","param":"stop","code":"unsupported_parameter"}}`},
		{"key", fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "no"), 401, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"no key", fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no"), 401, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`},
		{"group", fault.New(fault.PermissionDenied, fault.ReasonWrongGroup, "no"), 403, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"insufficient_permissions"}}`},
		{"model", fault.New(fault.NotFound, fault.ReasonModelNotFound, "no"), 404, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{"path", fault.New(fault.NotFound, fault.ReasonPathNotFound, "no"), 404, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"unknown_url"}}`},
		{"rate", fault.New(fault.RateLimited, "X", "no"), 429, `{"error":{"message":"no","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"quota", fault.New(fault.QuotaExhausted, "X", "no"), 429, `{"error":{"message":"no","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{"internal", fault.From(json.Unmarshal([]byte("x"), new(int))), 500, `{"error":{"message":"` + fault.InternalMessage + `","type":"server_error","param":null,"code":null}}`},
		{"upstream", fault.New(fault.BadUpstream, "X", "no"), 502, `{"error":{"message":"no","type":"server_error","param":null,"code":"bad_gateway"}}`},
		{"overloaded", fault.New(fault.Overloaded, "X", "no"), 503, `{"error":{"message":"no","type":"server_error","param":null,"code":"server_is_overloaded"}}`},
		{"timeout", fault.New(fault.Timeout, "X", "no"), 504, `{"error":{"message":"no","type":"server_error","param":null,"code":"timeout"}}`},
		{"unknown kind", &fault.Error{Message: "no"}, 500, `{"error":{"message":"no","type":"server_error","param":null,"code":null}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := c.EncodeError(test.err)
			if status != test.status || string(body) != test.body {
				t.Errorf("%d %s", status, body)
			}
			back := c.DecodeError(status, body)
			if back.Message != test.err.Message || back.Param != test.err.Param {
				t.Errorf("came back as %+v", back)
			}
		})
	}
}

func TestUpstreamErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   fault.Kind
		text   string
		code   string
	}{
		{"vendor", 400, `{"error":{"code":"unsupported_file","message":"Not supported.","param":"input","type":"invalid_request_error"}}`, fault.InvalidRequest, "Not supported.", "unsupported_file"},
		{"model", 400, `{"error":{"code":"model_not_found","message":"m"}}`, fault.NotFound, "m", "model_not_found"},
		{"quota", 429, `{"error":{"code":"insufficient_quota","message":"m","type":"insufficient_quota"}}`, fault.QuotaExhausted, "m", "insufficient_quota"},
		{"quota by type", 429, `{"error":{"message":"m","type":"insufficient_quota"}}`, fault.QuotaExhausted, "m", ""},
		{"number code", 429, `{"error":{"code":429,"message":"m"}}`, fault.RateLimited, "m", "429"},
		{"overloaded", 503, `{"error":{"code":"server_is_overloaded","message":"m"}}`, fault.Overloaded, "m", "server_is_overloaded"},
		{"a failure of theirs stays one", 500, `{"error":{"code":"invalid_prompt","message":"m"}}`, fault.BadUpstream, "m", "invalid_prompt"},
		{"text for error", 404, `{"error":"not here"}`, fault.NotFound, "not here", ""},
		{"html", 502, `<html>`, fault.BadUpstream, "the upstream answered with status 502", ""},
		{"empty", 429, ``, fault.RateLimited, "the upstream answered with status 429", ""},
		{"other JSON", 418, `[1]`, fault.InvalidRequest, "the upstream answered with status 418", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := c.DecodeError(test.status, []byte(test.body))
			if err.Kind != test.kind || err.Message != test.text || err.NativeCode != test.code || err.HTTPStatus() != test.status {
				t.Errorf("%+v", err)
			}
			status, body := c.EncodeError(err)
			if status != test.status {
				t.Errorf("status %d", status)
			}
			if err.Wire != nil && string(body) != test.body {
				t.Errorf("the body became %s", body)
			}
		})
	}
}

// What failed in band is still an error body out of band, and keeps its usage.
func TestFailuresInBand(t *testing.T) {
	const failed = `{"type":"response.failed","sequence_number":9,"response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"Oh."},"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}}`
	for _, test := range []struct{ name, event, body string }{
		{"failed", failed, `{"error":{"message":"Oh.","type":"server_error","param":null,"code":"server_error"}}`},
		{"error", `{"type":"error","sequence_number":3,"code":"rate_limit_exceeded","message":"Slow.","param":null}`, `{"error":{"message":"Slow.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"nested error", `{"type":"error","error":{"type":"invalid_request_error","code":"x","message":"Bad.","param":"input"}}`, `{"error":{"message":"Bad.","type":"invalid_request_error","param":"input","code":"x"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := c.NewStreamDecoder()
			if _, err := d.Decode(codec.Frame{Data: []byte(`{"type":"response.created","response":{"id":"resp_1"}}`)}); err != nil {
				t.Fatal(err)
			}
			events, err := d.Decode(codec.Frame{Data: []byte(test.event)})
			f := fault.From(err)
			if len(events) != 0 || f == nil || string(f.Wire.GetJson()) != test.event {
				t.Fatalf("%v, %+v", events, f)
			}
			if events, err := d.Close(); len(events) > 0 || err != nil {
				t.Errorf("after the failure: %v, %v", events, err)
			}
			if _, body := c.EncodeError(f); string(body) != test.body {
				t.Errorf("%s", body)
			}
			e := c.NewStreamEncoder(codec.Answer{})
			if _, err := e.Encode(codec.Event(&genwayv1.TextStarted{Id: "resp_1"})); err != nil {
				t.Fatal(err)
			}
			frames := e.Fail(f)
			want := strings.Replace(strings.Replace(test.event, `:9,`, `:2,`, 1), `:3,`, `:2,`, 1)
			if !strings.Contains(want, "sequence_number") {
				want = strings.TrimSuffix(want, "}") + `,"sequence_number":2}`
			}
			if len(frames) != 1 || string(frames[0].Data) != want {
				t.Errorf("%s", frames)
			}
		})
	}
	d := c.NewStreamDecoder()
	_, err := d.Decode(codec.Frame{Data: []byte(failed)})
	if u := c.ErrorUsage(fault.From(err)); u.GetInputTokens() != 5 || u.GetTotalTokens() != 7 {
		t.Errorf("U7: %v", u)
	}
	if u := c.ErrorUsage(fault.New(fault.Internal, "X", "x")); u != nil {
		t.Errorf("%v", u)
	}
	body := strings.TrimSuffix(strings.TrimPrefix(failed, `{"type":"response.failed","sequence_number":9,"response":`), "}")
	_, err = c.DecodeResponse([]byte(strings.Replace(body, `"id"`, `"object":"response","id"`, 1)))
	if u := c.ErrorUsage(fault.From(err)); u.GetInputTokens() != 5 {
		t.Errorf("U7 unary: %v, %v", u, err)
	}
	if status, body := c.EncodeError(fault.From(err)); status != 502 || !strings.Contains(string(body), `"message":"Oh."`) {
		t.Errorf("%d %s", status, body)
	}
}

// A failure after content is a failed response with what was finished, and
// nothing follows it (case S4).
func TestS4FailuresOfOurs(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	resp := &genwayv1.GenerateTextResponse{Id: "resp_1", Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{textOf("msg_1", "x"), textOf("msg_2", "y")}}}}
	n := 0
	for _, ev := range codec.Events(resp, nil) {
		if ev.GetCompleted() != nil {
			break
		}
		frames, err := e.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		n += len(frames)
	}
	frames := e.Fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "it was cut"))
	if len(frames) != 1 || frames[0].Event != "response.failed" {
		t.Fatalf("%s", frames)
	}
	var ev struct {
		SequenceNumber int `json:"sequence_number"`
		Response       struct {
			Status string              `json:"status"`
			Error  map[string]string   `json:"error"`
			Output []map[string]string `json:"-"`
		} `json:"response"`
	}
	if err := json.Unmarshal(frames[0].Data, &ev); err != nil {
		t.Fatal(err)
	}
	if ev.SequenceNumber != n || ev.Response.Status != "failed" || ev.Response.Error["code"] != "server_error" || ev.Response.Error["message"] != "it was cut" {
		t.Errorf("%s", frames[0].Data)
	}
	if frames, err := e.Encode(codec.Event(&genwayv1.TextCompleted{})); len(frames) > 0 || err != nil {
		t.Errorf("after the failure: %s, %v", frames, err)
	}
	if frames := e.Fail(fault.New(fault.Internal, "X", "x")); len(frames) > 0 {
		t.Errorf("a second failure: %s", frames)
	}
}

// A stream that fails before anything else still begins as a stream does.
func TestFailuresAtOnce(t *testing.T) {
	frames := c.NewStreamEncoder(codec.Answer{}).Fail(fault.New(fault.RateLimited, "X", "slow down"))
	if len(frames) != 3 || frames[0].Event != "response.created" || frames[2].Event != "response.failed" || !strings.Contains(string(frames[2].Data), "rate_limit_exceeded") {
		t.Errorf("%s", frames)
	}
}
