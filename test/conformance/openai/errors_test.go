package openai_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// refused demands the SDK's typed error: a status, a type and, unless it is empty, a
// code; always with a message and a request id.
func refused(t *testing.T, err error, status int, kind, code string) *openai.Error {
	t.Helper()
	var failure *openai.Error
	if !errors.As(err, &failure) {
		t.Fatalf("not an error of the API: %v", err)
	}
	check.Equal(t, "status", failure.StatusCode, status)
	check.Equal(t, "type", failure.Type, kind)
	if code != "" {
		check.Equal(t, "code", failure.Code, code)
	}
	check.Truef(t, failure.Message != "", "no message: %s", failure.RawJSON())
	check.Truef(t, failure.JSON.Param.Raw() != "" && failure.JSON.Code.Raw() != "", "param and code are not there, not even null: %s", failure.RawJSON())
	check.Truef(t, failure.Response.Header.Get("X-Request-ID") != "", "no request id")
	return failure
}

func header(t *testing.T, params openai.ChatCompletionNewParams, name string) string {
	t.Helper()
	var response *http.Response
	c := client(option.WithResponseInto(&response))
	if _, err := c.Chat.Completions.New(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	return response.Header.Get(name)
}

// operations are the calls that fail alike.
func operations() map[string]func(*testing.T, string, ...option.RequestOption) error {
	return map[string]func(*testing.T, string, ...option.RequestOption) error{
		"chat": func(t *testing.T, model string, o ...option.RequestOption) error {
			c, params := client(o...), chat(openai.UserMessage("Say hello."))
			params.Model = model
			_, err := c.Chat.Completions.New(t.Context(), params)
			return err
		},
		"responses": func(t *testing.T, model string, o ...option.RequestOption) error {
			c, params := client(o...), asked("Say hello.")
			params.Model = model
			_, err := c.Responses.New(t.Context(), params)
			return err
		},
		"images": func(t *testing.T, model string, o ...option.RequestOption) error {
			c := client(o...)
			_, err := c.Images.Generate(t.Context(), openai.ImageGenerateParams{Prompt: "A red fox", Model: model})
			return err
		},
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, call := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, call(t, textModel, option.WithAPIKey("wrong")), 401, "invalid_request_error", "invalid_api_key")
			refused(t, call(t, textModel, option.WithHeaderDel("Authorization")), 401, "invalid_request_error", "")
			other := refused(t, call(t, textModel, option.WithAPIKey(gateway.Keys["messages"])), 403, "invalid_request_error", "")
			check.Contains(t, other.Message, "messages")
			refused(t, call(t, "no-such-model"), 404, "invalid_request_error", "model_not_found")
			check.Equal(t, "param", refused(t, call(t, textModel, option.WithJSONDel("model")), 400, "invalid_request_error", "").Param, "model")
			check.Equal(t, "param", refused(t, call(t, textModel, option.WithJSONSet("model", 7)), 400, "invalid_request_error", "").Param, "model")
		})
	}
}

// TestErrorsOfTheUpstream asks for failures by the model's name.
func TestErrorsOfTheUpstream(t *testing.T) {
	t.Parallel()
	for name, call := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limited := refused(t, call(t, "sandbox-rate-limit"), 429, "requests", "rate_limit_exceeded")
			check.Equal(t, "Retry-After", limited.Response.Header.Get("Retry-After"), "2")
			refused(t, call(t, "sandbox-quota"), 429, "insufficient_quota", "insufficient_quota")
			refused(t, call(t, "sandbox-error"), 500, "server_error", "")
			refused(t, call(t, "sandbox-garbage"), 502, "server_error", "")
			refused(t, call(t, "sandbox-overload"), 503, "server_error", "")
			unavailable := refused(t, call(t, "sandbox-unavailable"), 503, "server_error", "")
			check.Equal(t, "Retry-After", unavailable.Response.Header.Get("Retry-After"), "2")
			refused(t, call(t, "sandbox-timeout"), 504, "server_error", "")
			refused(t, call(t, "sandbox-cut"), 502, "server_error", "")
		})
	}
}

func TestErrorsOfARequest(t *testing.T) {
	t.Parallel()
	c := client()
	_, err := c.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: textModel}, option.WithJSONDel("messages"))
	check.Equal(t, "param", refused(t, err, 400, "invalid_request_error", "").Param, "messages")
	_, err = c.Chat.Completions.New(t.Context(), chat(openai.UserMessage("Hi.")), option.WithJSONSet("temperature", "hot"))
	check.Equal(t, "param", refused(t, err, 400, "invalid_request_error", "").Param, "temperature")
	_, err = c.Chat.Completions.New(t.Context(), chat(openai.ToolMessage("18 degrees", "call_nobody_made")), option.WithJSONDel("messages.0.tool_call_id"))
	check.Equal(t, "param", refused(t, err, 400, "invalid_request_error", "").Param, "messages[0].tool_call_id")
	_, err = c.Responses.New(t.Context(), responses.ResponseNewParams{Model: textModel})
	refused(t, err, 400, "invalid_request_error", "")
	byID := asked("Go on.")
	byID.PreviousResponseID = openai.String("resp_unknown")
	_, err = c.Responses.New(t.Context(), byID)
	refused(t, err, 400, "invalid_request_error", "previous_response_not_found")
}
