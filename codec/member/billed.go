package member

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// ToolCalls reads an object that counts calls of a vendor's own tools: web_search_requests of Anthropic's and
// OpenRouter's server_tool_use, web_search_calls of xAI's server_side_tool_usage_details. Counts of zero say
// nothing.
func ToolCalls(object jsontext.Value) []*genwayv1.ToolUsage {
	var tools []*genwayv1.ToolUsage
	for name, n := range counts(object) {
		tool, isCount := strings.CutSuffix(name, "_requests")
		if !isCount {
			tool, isCount = strings.CutSuffix(name, "_calls")
		}
		if isCount && n != 0 {
			tools = append(tools, &genwayv1.ToolUsage{Tool: tool, Calls: n})
		}
	}
	return tools
}

// CacheWrites reads an object that counts the tokens written to a cache by their lifetime: ephemeral_1h_input_tokens of
// Anthropic's cache_creation, ttl_12h_tokens of OpenAI's cache_write_tokens_details.
func CacheWrites(object jsontext.Value) []*genwayv1.CacheWrite {
	var writes []*genwayv1.CacheWrite
	for name, n := range counts(object) {
		ttl, isCount := strings.CutSuffix(name, "_tokens")
		ttl = strings.TrimSuffix(ttl, "_input")
		kind, ttl, _ := strings.Cut(ttl, "_")
		if isCount && (kind == "ephemeral" || kind == "ttl") && ttl != "" {
			writes = append(writes, &genwayv1.CacheWrite{Ttl: ttl, Tokens: n})
		}
	}
	return writes
}

// counts yields the members of an object that are whole numbers, in their order.
func counts(object jsontext.Value) func(yield func(string, int64) bool) {
	return func(yield func(string, int64) bool) {
		if object.Kind() != '{' {
			return
		}
		_ = Walk(object, func(name string, value jsontext.Value) bool {
			var n struct {
				N *int64 `json:"n"`
			}
			if value.Kind() == '0' {
				Fit(append(append([]byte(`{"n":`), value...), '}'), &n)
			}
			return n.N == nil || yield(name, *n.N)
		}, fitOptions)
	}
}
