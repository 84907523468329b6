// Package genai_test drives a running gateway with the vendor's Go SDK of the
// generateContent protocol, unmodified. What the sandbox repeats of a request shows
// that nothing of it was lost on the way.
package genai_test

import (
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"google.golang.org/genai"
)

const textModel = "sandbox-text"

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// client is the SDK's client with a key, or the generatecontent group's. The SDK
// does not retry by itself.
func client(t *testing.T, key string, options genai.HTTPOptions) *genai.Client {
	t.Helper()
	if key == "" {
		key = gateway.Keys["generatecontent"]
	}
	options.BaseURL = gateway.URL()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: options,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func generate(t *testing.T, contents []*genai.Content, config *genai.GenerateContentConfig) *genai.GenerateContentResponse {
	t.Helper()
	answer, err := client(t, "", genai.HTTPOptions{}).Models.GenerateContent(t.Context(), textModel, contents, config)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func modelled(t *testing.T, model string, contents []*genai.Content) *genai.GenerateContentResponse {
	t.Helper()
	answer, err := client(t, "", genai.HTTPOptions{}).Models.GenerateContent(t.Context(), model, contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func user(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) }

func modelTurn(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleModel) }

// only is the single candidate of an answer.
func only(t *testing.T, answer *genai.GenerateContentResponse) *genai.Candidate {
	t.Helper()
	if len(answer.Candidates) != 1 {
		t.Fatalf("%d candidates, not 1", len(answer.Candidates))
	}
	if answer.Candidates[0].Content == nil {
		t.Fatal("the candidate has no content")
	}
	check.Equal(t, "role", answer.Candidates[0].Content.Role, genai.RoleModel)
	return answer.Candidates[0]
}
