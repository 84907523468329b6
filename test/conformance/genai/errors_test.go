package genai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"google.golang.org/genai"
)

// refused demands the SDK's typed error, always with a message.
func refused(t *testing.T, err error, code int, status string) genai.APIError {
	t.Helper()
	var failure genai.APIError
	if !errors.As(err, &failure) {
		t.Fatalf("not an error of the API: %v", err)
	}
	check.Equal(t, "code", failure.Code, code)
	check.Equal(t, "status", failure.Status, status)
	check.Truef(t, failure.Message != "", "no message: %v", failure)
	return failure
}

func failing(t *testing.T, key, model string, options genai.HTTPOptions) error {
	t.Helper()
	_, err := client(t, key, options).Models.GenerateContent(t.Context(), model, genai.Text("Say hello."), nil)
	return err
}

func TestErrors(t *testing.T) {
	t.Parallel()
	none := genai.HTTPOptions{}
	// The vendor answers a wrong key with 400 and says API_KEY_INVALID in the details.
	wrong := refused(t, failing(t, "wrong", textModel, none), 400, "INVALID_ARGUMENT")
	invalid := false
	for _, detail := range wrong.Details {
		invalid = invalid || detail["reason"] == "API_KEY_INVALID"
	}
	check.Truef(t, invalid, "details are %v", wrong.Details)
	other := refused(t, failing(t, gateway.Keys["messages"], textModel, none), 403, "PERMISSION_DENIED")
	check.Truef(t, strings.Contains(other.Message, "messages"), "message is %q", other.Message)
	refused(t, failing(t, "", "no-such-model", none), 404, "NOT_FOUND")
	wrongType := refused(t, failing(t, "", textModel, genai.HTTPOptions{ExtraBody: map[string]any{"contents": "Hello."}}), 400, "INVALID_ARGUMENT")
	check.Truef(t, strings.Contains(wrongType.Message, "contents"), "message is %q", wrongType.Message)
	refused(t, failing(t, "", textModel, genai.HTTPOptions{ExtraBody: map[string]any{"contents": []any{}}}), 400, "INVALID_ARGUMENT")
}

// TestErrorsOfTheUpstream asks for failures by the model's name.
func TestErrorsOfTheUpstream(t *testing.T) {
	t.Parallel()
	limited := refused(t, failing(t, "", "sandbox-rate-limit", genai.HTTPOptions{}), 429, "RESOURCE_EXHAUSTED")
	delay := ""
	for _, detail := range limited.Details {
		if d, ok := detail["retryDelay"].(string); ok {
			delay = d
		}
	}
	check.Equal(t, "retryDelay", delay, "2s")
	refused(t, failing(t, "", "sandbox-error", genai.HTTPOptions{}), 500, "INTERNAL")
	refused(t, failing(t, "", "sandbox-overload", genai.HTTPOptions{}), 503, "UNAVAILABLE")
	refused(t, failing(t, "", "sandbox-unavailable", genai.HTTPOptions{}), 503, "UNAVAILABLE")
	refused(t, failing(t, "", "sandbox-timeout", genai.HTTPOptions{}), 504, "DEADLINE_EXCEEDED")
}

// TestVersions: the protocol is served under v1beta and, for the newest SDK of the
// vendor in another language, under v1.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "v1beta", "v1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			models := client(t, "", genai.HTTPOptions{APIVersion: version}).Models
			answer, err := models.GenerateContent(t.Context(), textModel, genai.Text("Say hello."), nil)
			if err != nil {
				t.Fatal(err)
			}
			check.Contains(t, answer.Text(), "Say hello.")
			var text strings.Builder
			for answer, err := range models.GenerateContentStream(t.Context(), textModel, genai.Text("Say hello."), nil) {
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString(answer.Text())
			}
			check.Equal(t, "text", text.String(), answer.Text())
			count, err := models.CountTokens(t.Context(), textModel, genai.Text("Say hello."), nil)
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, "totalTokens", count.TotalTokens, answer.UsageMetadata.PromptTokenCount)
			listed(t, models)
		})
	}
}

// listed pages through the models one by one, and gets one of them.
func listed(t *testing.T, models *genai.Models) {
	t.Helper()
	names := map[string]bool{}
	page, err := models.List(t.Context(), &genai.ListModelsConfig{PageSize: 1})
	for err == nil {
		check.Equal(t, "size of the page", len(page.Items), 1)
		for _, model := range page.Items {
			names[model.Name] = true
		}
		if page.NextPageToken == "" {
			break
		}
		page, err = page.Next(t.Context())
	}
	if err != nil && !errors.Is(err, genai.ErrPageDone) {
		t.Fatal(err)
	}
	check.Truef(t, names["models/"+textModel] && names["models/sandbox-image"], "the list lacks a model: %v", names)
	model, err := models.Get(t.Context(), textModel, nil)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "name", model.Name, "models/"+textModel)
	check.Truef(t, len(model.SupportedActions) > 0 && model.InputTokenLimit > 0, "not complete: %+v", model)
	_, err = models.Get(t.Context(), "no-such-model", nil)
	refused(t, err, 404, "NOT_FOUND")
}
