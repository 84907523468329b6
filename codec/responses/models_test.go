package responses_test

import (
	"encoding/json"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Codex takes no list in which a member is missing or has another type, so that each is compared.
func TestCatalogForCodex(t *testing.T) {
	window := int64(1 << 20)
	models := []*genwayv1.Model{
		{Name: "claude \"x\"", DisplayName: "Claude X", Description: "the\nfirst", GeneratesText: true, InputTokenLimit: &window},
		{Name: "drawing", GeneratesImages: true},
		{Name: "other", GeneratesText: true},
	}
	for name, test := range map[string]struct {
		also  []*genwayv1.Model
		first int
	}{"nothing that Codex knows": {nil, 0}, "a model that Codex knows": {[]*genwayv1.Model{{Name: "gpt-6-sol", GeneratesText: true}}, 100}} {
		body, err := c.EncodeModels(&genwayv1.ListModelsResponse{Models: append(test.also, models...)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Models []map[string]any }
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Models) != 2 {
			t.Fatalf("%s: %s", name, body)
		}
		for i, want := range []string{
			`{"slug":"claude \"x\"","display_name":"Claude X","description":"the\nfirst","context_window":1048576}`, `{"slug":"other","display_name":"other"}`,
		} {
			entry := got.Models[i]
			var wanted map[string]any
			if err := json.Unmarshal([]byte(want), &wanted); err != nil {
				t.Fatal(err)
			}
			wanted["supported_reasoning_levels"], wanted["experimental_supported_tools"] = []any{}, []any{}
			wanted["shell_type"], wanted["visibility"], wanted["supported_in_api"], wanted["support_verbosity"], wanted["supports_parallel_tool_calls"] = "shell_command", "list", true, false, true
			wanted["truncation_policy"], wanted["priority"] = map[string]any{"mode": "bytes", "limit": 10000.0}, float64(test.first+i)
			if text, ok := entry["base_instructions"].(string); !ok || len(text) < 500 {
				t.Errorf("%s: instructions %v", name, entry["base_instructions"])
			}
			delete(entry, "base_instructions")
			if a, b := spelledOut(t, entry), spelledOut(t, wanted); a != b {
				t.Errorf("%s: got\n%s, want\n%s", name, a, b)
			}
		}
	}
	if body, err := c.EncodeModels(&genwayv1.ListModelsResponse{}); err != nil || string(body) != `{"models":[]}` {
		t.Errorf("no models: %s, %v", body, err)
	}
}

func spelledOut(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
