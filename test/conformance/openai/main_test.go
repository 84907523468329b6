// Package openai_test drives a running gateway with the vendor's Go SDK of the chat
// completions, responses and images protocols, unmodified. What the sandbox repeats
// of a request shows that nothing of it was lost on the way.
package openai_test

import (
	"testing"

	"github.com/genway/genway/test/conformance/server"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	textModel  = "sandbox-text"
	imageModel = "sandbox-image"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// client is the SDK's client with the chat group's key. It does not retry, so that
// a test sees every failure.
func client(options ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(gateway.URL() + "/v1"),
		option.WithAPIKey(gateway.Keys["chat"]),
		option.WithMaxRetries(0),
	}, options...)...)
}

// weather is the schema of a tool's arguments.
func weather() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"city": map[string]any{"type": "string"},
			"unit": map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}},
		},
		"required":             []string{"city", "unit"},
		"additionalProperties": false,
	}
}

// person is the schema of a structured answer, and what it is read into.
type person struct {
	Name  string   `json:"name"`
	Age   int      `json:"age"`
	Likes []string `json:"likes"`
}

func personSchema() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name":  map[string]any{"type": "string", "minLength": 1},
			"age":   map[string]any{"type": "integer", "minimum": 1, "maximum": 120},
			"likes": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 2, "maxItems": 2},
		},
		"required":             []string{"name", "age", "likes"},
		"additionalProperties": false,
	}
}
