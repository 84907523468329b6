package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func TestErrorsInTheVendorsWords(t *testing.T) {
	for _, tc := range []struct {
		err    *fault.Error
		status int
		body   string
	}{
		{fault.Missing("messages"), 400, `{"error":{"message":"missing required member: messages","type":"invalid_request_error","param":"messages","code":"missing_required_parameter"}}`},
		{fault.Invalid("n", "bad"), 400, `{"error":{"message":"bad","type":"invalid_request_error","param":"n","code":"invalid_value"}}`},
		{&fault.Error{Kind: fault.InvalidRequest, Reason: fault.ReasonInvalidMember, NativeCode: "invalid_image_url", Message: "x"}, 400, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"invalid_image_url"}}`},
		{&fault.Error{Kind: fault.RateLimited, NativeCode: "RATE_LIMITED", Message: "x"}, 429, `{"error":{"message":"x","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{&fault.Error{Kind: fault.RateLimited, NativeCode: "429", Message: "x"}, 429, `{"error":{"message":"x","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{&fault.Error{Kind: fault.BadUpstream, Status: 500, Message: "x"}, 500, `{"error":{"message":"x","type":"server_error","param":null,"code":null}}`},
		{fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "x"), 400, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":null}}`},
		{fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "x"), 401, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "x"), 401, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":null}}`},
		{fault.New(fault.PermissionDenied, fault.ReasonWrongGroup, "x"), 403, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"insufficient_permissions"}}`},
		{fault.New(fault.NotFound, fault.ReasonModelNotFound, "x"), 404, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{fault.New(fault.NotFound, fault.ReasonPathNotFound, "x"), 404, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"unknown_url"}}`},
		{fault.New(fault.MethodNotAllowed, fault.ReasonMethod, "x"), 405, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"method_not_supported"}}`},
		{fault.New(fault.TooLarge, fault.ReasonBodyTooLarge, "x"), 413, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"request_too_large"}}`},
		{fault.New(fault.RateLimited, "R", "x"), 429, `{"error":{"message":"x","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{fault.New(fault.QuotaExhausted, "R", "x"), 429, `{"error":{"message":"x","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{fault.New(fault.Cancelled, "R", "x"), 499, `{"error":{"message":"x","type":"invalid_request_error","param":null,"code":"request_cancelled"}}`},
		{fault.New(fault.Internal, "R", "x"), 500, `{"error":{"message":"x","type":"server_error","param":null,"code":null}}`},
		{fault.New(fault.BadUpstream, "R", "x"), 502, `{"error":{"message":"x","type":"server_error","param":null,"code":"bad_gateway"}}`},
		{fault.New(fault.Unavailable, "R", "x"), 503, `{"error":{"message":"x","type":"server_error","param":null,"code":"service_unavailable"}}`},
		{fault.New(fault.Overloaded, "R", "x"), 503, `{"error":{"message":"x","type":"server_error","param":null,"code":"server_overloaded"}}`},
		{fault.New(fault.Timeout, "R", "x"), 504, `{"error":{"message":"x","type":"server_error","param":null,"code":"timeout"}}`},
		{&fault.Error{Message: "x", Cause: errors.New("secret")}, 500, `{"error":{"message":"x","type":"server_error","param":null,"code":null}}`},
		{&fault.Error{Kind: fault.RateLimited, Wire: &genwayv1.WireMessage{Protocol: own, Json: []byte(`{"error":{"code": 429}}`)}}, 429, `{"error":{"code": 429}}`},
		{&fault.Error{Kind: fault.RateLimited, Message: "x", Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(`{}`)}}, 429, `{"error":{"message":"x","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
	} {
		status, body := c.EncodeError(tc.err)
		if status != tc.status || string(body) != tc.body {
			t.Errorf("%v: %d %s", tc.err, status, body)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	for number, name := range genwayv1.ErrorKind_name {
		status, body := c.EncodeError(fault.New(fault.Kind(number), "", "x"))
		if status < 400 || len(body) == 0 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestDecodeError(t *testing.T) {
	for name, tc := range map[string]struct {
		status                     int
		body                       string
		kind                       fault.Kind
		message, kindOf, code, par string
	}{
		"the vendor's":          {400, `{"error":{"message":"m","type":"invalid_request_error","param":"n","code":"invalid_value"}}`, fault.InvalidRequest, "m", "invalid_request_error", "invalid_value", "n"},
		"wrong key":             {401, `{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}`, fault.Unauthenticated, "m", "invalid_request_error", "invalid_api_key", ""},
		"quota":                 {429, `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`, fault.QuotaExhausted, "m", "insufficient_quota", "insufficient_quota", ""},
		"rate":                  {429, `{"error":{"message":"m","type":"requests","code":"rate_limit_exceeded"}}`, fault.RateLimited, "m", "requests", "rate_limit_exceeded", ""},
		"no access to a model":  {403, `{"error":{"message":"m","code":"model_not_found"}}`, fault.NotFound, "m", "", "model_not_found", ""},
		"OpenRouter's number":   {429, `{"error":{"message":"m","code":429,"metadata":{}}}`, fault.RateLimited, "m", "", "429", ""},
		"a number in an answer": {0, `{"error":{"message":"m","code":503}}`, fault.Unavailable, "m", "", "503", ""},
		"words in a stream":     {0, `{"error":{"message":"m","type":"rate_limit_error"}}`, fault.RateLimited, "m", "rate_limit_error", "", ""},
		"nothing in a stream":   {0, `{"error":{"message":"m"}}`, fault.BadUpstream, "m", "", "", ""},
		"a bare string":         {500, `{"error":"m"}`, fault.BadUpstream, "m", "", "", ""},
		"at the top":            {400, `{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`, fault.InvalidRequest, "m", "BadRequestError", "400", ""},
		"FastAPI":               {422, `{"detail":[{"msg":"m"}]}`, fault.Unprocessable, `[{"msg":"m"}]`, "", "", ""},
		"payment":               {402, `{"error":{"message":"m","code":402}}`, fault.QuotaExhausted, "m", "", "402", ""},
		"overloaded":            {503, `{"error":{"message":"m","type":"overloaded_error"}}`, fault.Overloaded, "m", "overloaded_error", "", ""},
		"a lie about the fault": {500, `{"error":{"message":"m","type":"invalid_request_error"}}`, fault.BadUpstream, "m", "invalid_request_error", "", ""},
		"a page":                {502, `<html>`, fault.BadUpstream, "the upstream answered with status 502", "", "", ""},
		"nothing":               {404, ``, fault.NotFound, "the upstream answered with status 404", "", "", ""},
		"an array":              {529, `[]`, fault.Overloaded, "the upstream answered with status 529", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := c.DecodeError(tc.status, []byte(tc.body))
			if e.Kind != tc.kind || e.Message != tc.message || e.NativeType != tc.kindOf || e.NativeCode != tc.code || e.Param != tc.par {
				t.Errorf("%v %q %q %q %q", e.Kind, e.Message, e.NativeType, e.NativeCode, e.Param)
			}
			// What is of another shape would not be read by this protocol's clients.
			if shaped := strings.HasPrefix(tc.body, `{"error":{`); shaped != (e.Wire != nil) {
				t.Errorf("wire %v", e.Wire)
			}
			if e.Wire != nil {
				if _, body := c.EncodeError(e); string(body) != tc.body {
					t.Errorf("came back as %s", body)
				}
			}
		})
	}
}

func TestAnErrorInAnAnswer(t *testing.T) {
	_, err := c.DecodeResponse([]byte(`{"error":{"message":"slow down","code":429}}`))
	if f := fault.From(err); f.Kind != fault.RateLimited || f.Message != "slow down" {
		t.Errorf("%v", err)
	}
}
