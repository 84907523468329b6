//go:build engine

package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/engine/model"
)

// A question is what every caller can ask.
type question struct {
	model  string
	text   string
	max    int64 // most output tokens
	tool   bool  // offer get_weather, and require that it is called
	schema bool  // demand {"city": string, "days": integer}
	stream bool
}

// An answer is what every protocol says, in one spelling.
type answer struct {
	text          string
	finish        string // stop, length or tools
	tool, args    string
	input, output int64
}

// A caller asks by an SDK.
type caller func(ctx context.Context, q question) (answer, error)

func callers() map[string]caller {
	return map[string]caller{
		"chat":            askChat,
		"responses":       askResponses,
		"messages":        askMessages,
		"generatecontent": askGenerateContent,
	}
}

// each runs a test for each caller, each kind of upstream and both forms.
func each(t *testing.T, test func(t *testing.T, ask caller, q question)) {
	t.Helper()
	for protocol, ask := range callers() {
		for _, kind := range kinds() {
			for form, stream := range map[string]bool{"unary": false, "stream": true} {
				t.Run(protocol+" to "+kind+" "+form, func(t *testing.T) {
					test(t, ask, question{model: "tiny-" + kind, text: "What do you know?", max: 200, stream: stream})
				})
			}
		}
	}
}

func get(t *testing.T, ask caller, q question) answer {
	t.Helper()
	got, err := ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestText(t *testing.T) {
	each(t, func(t *testing.T, ask caller, q question) {
		got := get(t, ask, q)
		check.Equal(t, "text", got.text, model.Sentence)
		check.Equal(t, "finish", got.finish, "stop")
		check.Truef(t, got.input > int64(len(q.text)), "input tokens: %d; the model counts bytes", got.input)
		// One token a word and the end, which engines count or do not.
		check.Truef(t, got.output == 15 || got.output == 16, "output tokens: %d", got.output)
	})
}

func TestCut(t *testing.T) {
	each(t, func(t *testing.T, ask caller, q question) {
		q.max = 3
		got := get(t, ask, q)
		check.Equal(t, "text", got.text, "I am a")
		if q.model != "tiny-responses" {
			// The engine's responses say completed where the others say cut.
			check.Equal(t, "finish", got.finish, "length")
		}
		check.Equal(t, "output tokens", got.output, 3)
	})
}

func TestTool(t *testing.T) {
	each(t, func(t *testing.T, ask caller, q question) {
		q.tool = true
		got := get(t, ask, q)
		check.Equal(t, "finish", got.finish, "tools")
		check.Equal(t, "tool", got.tool, "get_weather")
		var args struct{ City *string }
		if err := json.Unmarshal([]byte(got.args), &args); err != nil || args.City == nil {
			t.Errorf("arguments %q: %v", got.args, err)
		}
	})
}

func TestStructuredOutput(t *testing.T) {
	each(t, func(t *testing.T, ask caller, q question) {
		// The engine applies a schema only in chat completions.
		q.model, q.schema = "tiny-chat", true
		got := get(t, ask, q)
		check.Equal(t, "finish", got.finish, "stop")
		var value struct {
			City *string
			Days *int
		}
		if err := json.Unmarshal([]byte(got.text), &value); err != nil || value.City == nil || value.Days == nil {
			t.Errorf("answer %q: %v", got.text, err)
		}
	})
}

// schemaOf is a JSON schema of an object with these properties, all required.
func schemaOf(properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func toolSchema() map[string]any {
	return schemaOf(map[string]any{"city": map[string]any{"type": "string"}}, "city")
}

func answerSchema() map[string]any {
	return schemaOf(map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}, "city", "days")
}
