package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/core/catalog"
)

const modelsDev = `{
  "openai": {"id": "openai", "models": {
    "Chat-1": {"id": "chat-1", "reasoning": true, "temperature": false, "tool_call": true, "structured_output": true,
      "limit": {"context": 400000, "output": 128000}, "modalities": {"input": ["text", "image", "pdf", "smell"], "output": ["text"]}},
    "plain": {"reasoning": false, "limit": {"context": 0, "output": -1}},
    "huge": {"limit": {"context": 1e300}},
    "any/*": {}}},
  "reseller": {"models": {"chat-1": {"limit": {"context": 5}}, "own": {"limit": {"context": 7}}}}}`

const liteLLM = `{
  "sample_spec": {"mode": "chat"},
  "azure/Chat-1": {"litellm_provider": "azure", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 100, "supports_function_calling": true,
    "supports_response_schema": false, "supports_reasoning": false, "supported_modalities": ["text", "image"], "supported_output_modalities": ["text"]},
  "words": {"litellm_provider": "azure", "max_input_tokens": "many", "supports_function_calling": "yes"},
  "embed": {"litellm_provider": "azure", "mode": "embedding"},
  "chat-1": {"litellm_provider": "openai", "mode": "responses"}}`

func TestImport(t *testing.T) {
	for _, c := range []struct {
		name, text string
		read       func([]byte, []string) (*catalog.Import, error)
		providers  []string
		want       string
		skipped    string
	}{
		{
			"models.dev", modelsDev, catalog.ModelsDev, []string{"openai", "reseller"}, `models:
  - {model: chat-1, context: 400000, max_output: 128000, input: [text, image, document], output: [text], refuses: [temperature], tools: true, structured_output: true, source: "models.dev, openai"}
  - {model: huge, source: "models.dev, openai"}
  - {model: plain, thinking: [], source: "models.dev, openai"}
  - {model: own, context: 7, source: "models.dev, reseller"}
`, "map[a pattern:[openai/any/*] the name is taken already:[reseller/chat-1]]",
		},
		{
			"litellm", liteLLM, catalog.LiteLLM, []string{"azure"}, `models:
  - {model: chat-1, context: 1000, max_output: 100, input: [text, image], output: [text], thinking: [], tools: true, structured_output: false, source: "LiteLLM, azure"}
  - {model: words, source: "LiteLLM, azure"}
`, "map[mode embedding:[embed]]",
		},
	} {
		got, err := c.read([]byte(c.text), c.providers)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := catalog.Write(&out, got.Rows); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want || fmt.Sprint(got.Skipped) != c.skipped {
			t.Errorf("%s:\n%s%v", c.name, out.String(), got.Skipped)
		}
		again, err := catalog.Parse("again", []byte(out.String()))
		if err != nil || again.Len() != len(got.Rows) {
			t.Errorf("%s: what is written cannot be read: %v", c.name, err)
		}
		for _, bad := range []string{"", "[]", "{", `{"a": 7}`} {
			if _, err := c.read([]byte(bad), nil); err == nil {
				t.Errorf("%s: %q was read", c.name, bad)
			}
		}
	}
}
