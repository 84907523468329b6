package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/genway/genway/test/conformance/check"
)

// refused demands the SDK's typed error, always with a message and a request id.
func refused(t *testing.T, err error, status int, kind string) *anthropic.Error {
	t.Helper()
	var failure *anthropic.Error
	if !errors.As(err, &failure) {
		t.Fatalf("not an error of the API: %v", err)
	}
	check.Equal(t, "status", failure.StatusCode, status)
	check.Equal(t, "type", string(failure.Type()), kind)
	check.Truef(t, failure.RequestID != "", "no request id")
	var body struct {
		Type      string
		Error     struct{ Message string }
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(failure.RawJSON()), &body); err != nil {
		t.Fatalf("%v in %s", err, failure.RawJSON())
	}
	check.Equal(t, "body's type", body.Type, "error")
	check.Equal(t, "body's request id", body.RequestID, failure.RequestID)
	check.Truef(t, body.Error.Message != "", "no message: %s", failure.RawJSON())
	return failure
}

func failing(t *testing.T, model string, options ...option.RequestOption) error {
	t.Helper()
	params := message(user("Say hello."))
	params.Model = model
	c := client(options...)
	_, err := c.Messages.New(t.Context(), params)
	return err
}

func TestErrors(t *testing.T) {
	t.Parallel()
	refused(t, failing(t, textModel, option.WithAPIKey("wrong")), 401, "authentication_error")
	refused(t, failing(t, textModel, option.WithHeaderDel("X-Api-Key")), 401, "authentication_error")
	other := refused(t, failing(t, textModel, option.WithAPIKey(gateway.Keys["chat"])), 403, "permission_error")
	check.Contains(t, other.RawJSON(), "chat")
	refused(t, failing(t, "no-such-model"), 404, "not_found_error")
	for _, member := range []string{"model", "max_tokens", "messages"} {
		missing := refused(t, failing(t, textModel, option.WithJSONDel(member)), 400, "invalid_request_error")
		check.Contains(t, missing.RawJSON(), member)
	}
	wrong := refused(t, failing(t, textModel, option.WithJSONSet("max_tokens", "many")), 400, "invalid_request_error")
	check.Contains(t, wrong.RawJSON(), "max_tokens")
	refused(t, failing(t, textModel, option.WithHeaderDel("anthropic-version")), 400, "invalid_request_error")
	refused(t, failing(t, textModel, option.WithHeader("anthropic-version", "2022-01-01")), 400, "invalid_request_error")
}

// TestErrorsOfTheUpstream asks for failures by the model's name.
func TestErrorsOfTheUpstream(t *testing.T) {
	t.Parallel()
	limited := refused(t, failing(t, "sandbox-rate-limit"), 429, "rate_limit_error")
	check.Equal(t, "Retry-After", limited.Response.Header.Get("Retry-After"), "2")
	refused(t, failing(t, "sandbox-error"), 500, "api_error")
	refused(t, failing(t, "sandbox-garbage"), 502, "api_error")
	refused(t, failing(t, "sandbox-cut"), 502, "api_error")
	refused(t, failing(t, "sandbox-overload"), 529, "overloaded_error")
	refused(t, failing(t, "sandbox-timeout"), 504, "timeout_error")
}

// TestKeyStyles: the older SDKs send X-Api-Key and 2023-06-01, the newest one a
// bearer token and a later date.
func TestKeyStyles(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option.RequestOption{
		"x-api-key": nil,
		"bearer": {
			option.WithHeaderDel("X-Api-Key"), option.WithAuthToken(gateway.Keys["messages"]),
			option.WithHeader("anthropic-version", "2026-10-21"),
		},
		"betas": {option.WithHeader("anthropic-beta", "context-1m-2025-08-07,message-threads-2026-08-12")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := failing(t, textModel, options...); err != nil {
				t.Error(err)
			}
		})
	}
	refused(t, failing(t, textModel, option.WithHeaderDel("X-Api-Key"), option.WithAuthToken("wrong")), 401, "authentication_error")
}

// TestVersions: what 2026-10-21 took out of the protocol is refused for it, and only for it.
func TestVersions(t *testing.T) {
	t.Parallel()
	newest := []option.RequestOption{
		option.WithHeaderDel("X-Api-Key"), option.WithAuthToken(gateway.Keys["messages"]), option.WithHeader("anthropic-version", "2026-10-21"),
	}
	cited := anthropic.NewTextBlock("as it says")
	cited.OfText.Citations = []anthropic.TextCitationParamUnion{{OfCharLocation: &anthropic.CitationCharLocationParam{CitedText: "c", EndCharIndex: 1}}}
	document := anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: "d"})
	warm := message(user("Say hello."))
	warm.Temperature = anthropic.Float(1)
	for name, c := range map[string]struct {
		params  anthropic.MessageNewParams
		refuses string
	}{
		"plain":                      {message(user("Say hello."), anthropic.NewAssistantMessage(cited), anthropic.NewUserMessage(document)), ""},
		"a default temperature":      {warm, "temperature"},
		"citations of the user":      {message(anthropic.NewUserMessage(cited)), "messages[0].content[0].citations"},
		"a document of an assistant": {message(user("Say hello."), anthropic.NewAssistantMessage(document), user("And?")), "messages[1].content[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk := client()
			if _, err := sdk.Messages.New(t.Context(), c.params); err != nil {
				t.Errorf("2023-06-01: %v", err)
			}
			answer, err := sdk.Messages.New(t.Context(), c.params, newest...)
			stream := sdk.Messages.NewStreaming(t.Context(), c.params, newest...)
			for stream.Next() {
			}
			if c.refuses == "" {
				if err != nil || stream.Err() != nil {
					t.Fatal(err, stream.Err())
				}
				check.Contains(t, text(t, answer), "Say hello.")
				return
			}
			for _, err := range []error{err, stream.Err()} {
				check.Contains(t, refused(t, err, 400, "invalid_request_error").RawJSON(), `"message":"`+c.refuses, "2026-10-21")
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	c := client()
	names := map[string]bool{}
	list := c.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(1)})
	for list.Next() {
		model := list.Current()
		names[model.ID] = true
		check.Equal(t, "type", string(model.Type), "model")
		check.Truef(t, model.DisplayName != "" && !model.CreatedAt.IsZero(), "not complete: %s", model.RawJSON())
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, names[textModel] && names["sandbox-image"], "the list lacks a model: %v", names)
	model, err := c.Models.Get(t.Context(), textModel, anthropic.ModelGetParams{})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "id", model.ID, textModel)
	_, err = c.Models.Get(t.Context(), "no-such-model", anthropic.ModelGetParams{})
	refused(t, err, 404, "not_found_error")
}
