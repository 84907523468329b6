package explain_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/genway/genway/core/explain"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// arriving are the names of tools that every upstream gets.
var arriving = regexp.MustCompile(`\b(fn|ns__fn|bash|str_replace_based_edit_tool)"`)

// offers are tools in the caller's protocol that every upstream gets, some beside one that its vendor runs.
var offers = map[string]struct {
	body  string
	tools []string
}{
	"chat_completions": {`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[%s]}`, []string{
		`{"type":"function","function":{"name":"fn"}}`,
		`{"type":"function","function":{"name":"fn","strict":true,"parameters":{"type":"object","properties":{}},"x":1},"y":2,"cache_control":{"type":"ephemeral"}}`,
		`{"function":{"name":"fn","parameters":null,"strict":null,"description":null}}`,
		`{"type":"custom","custom":{"name":"fn","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"a"}},"x":1},"y":1}`,
		`{"type":"custom","custom":{"name":"fn","format":{"type":"text"}}}`,
		`{"type":"web_search"},{"type":"function","function":{"name":"fn","strict":false}}`,
	}},
	"responses": {`{"model":"m","input":[{"role":"user","content":"a"}],"tools":[%s]}`, []string{
		`{"type":"function","name":"fn","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`,
		`{"type":"function","name":"fn","parameters":null,"strict":null}`,
		`{"type":"function","name":"fn","strict":true,"parameters":{"type":"object","properties":{}},"defer_loading":true,"allowed_callers":["x"],"output_schema":{"type":"object"},"x":1}`,
		`{"type":"custom","name":"fn","format":{"type":"grammar","syntax":"lark","definition":"a"},"defer_loading":true,"x":1}`,
		`{"type":"custom","name":"fn","format":{"type":"text"}}`,
		`{"type":"namespace","name":"ns","description":"d","tools":[{"type":"function","name":"fn","strict":false,"x":1}],"y":1}`,
		`{"type":"namespace","name":"ns","description":"d","tools":[{"type":"web_search"},{"type":"custom","name":"fn"}]}`,
		`{"type":"web_search"},{"type":"function","name":"fn","parameters":{},"strict":false}`,
	}},
	"messages": {`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[%s]}`, []string{
		`{"name":"fn","input_schema":{}}`,
		`{"name":"fn","input_schema":{"type":"object"},"strict":true,"cache_control":{"type":"ephemeral"},"eager_input_streaming":true,"allowed_callers":["code_execution_20250825"],"input_examples":[{}],"x":1,"type":"custom"}`,
		`{"name":"fn","input_schema":{"type":"object","oneOf":[{"type":"object"}]},"strict":true}`,
		`{"name":"fn","input_schema":{"type":"object","$defs":{"a":{"type":"string","minLength":1}}},"strict":true}`,
		`{"type":"bash_20250124","name":"bash","cache_control":{"type":"ephemeral"},"x":1,"strict":true}`,
		`{"type":"text_editor_20250728","name":"str_replace_based_edit_tool","max_characters":9}`,
		`{"type":"web_search_20250305","name":"web_search"},{"name":"fn","input_schema":{"type":"object"}}`,
		`{"type":"mcp_toolset","mcp_server_name":"x"},{"name":"fn","input_schema":{"type":"object"}}`,
	}},
	"generate_content": {`{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[%s]}`, []string{
		`{"functionDeclarations":[{"name":"fn","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","format":"x"}}},"behavior":"BLOCKING","response":{"type":"STRING"}}],"googleSearch":{}}`,
		`{"functionDeclarations":[{"name":"fn"}],"codeExecution":{},"x":1,"y":[1],"z":null,"mcpServers":[{"name":"a"}],"googleMaps":{"enableWidget":true}}`,
		`{"function_declarations":[{"name":"fn","parameters_json_schema":{"type":"object"},"x":1}],"google_search":{},"y":true}`,
		`{"mcpServers":[{"name":"a"}],"functionDeclarations":[]},{"functionDeclarations":[{"name":"other","response":{"type":"STRING"}},{"name":"fn"}],"urlContext":{}}`,
	}},
}

// A tool that the upstream gets is not lost; only a member of it can be. That is named as the member, which says no more than
// what the caller has sent.
func TestToolsThatArriveAreNotLost(t *testing.T) {
	for from, offer := range offers {
		for _, tools := range offer.tools {
			for to := range offers {
				t.Run(fmt.Sprintf("%s to %s: %s", from, to, tools), func(t *testing.T) {
					got, err := (&explain.Explainer{}).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: named(from), Body: fmt.Appendf(nil, offer.body, tools), Model: "x", UpstreamProtocol: named(to)})
					if err != nil || got.GetRefusal() != nil {
						t.Fatal(err, got.GetRefusal())
					}
					if !arriving.Match(got.GetUpstreamBody()) {
						t.Fatalf("it does not arrive: %s", got.GetUpstreamBody())
					}
					for _, m := range got.GetMembers() {
						if m.GetFate() != adminv1.Fate_FATE_LOST {
							continue
						}
						if m.GetPath() == "tools" || arriving.MatchString(m.GetValueJson()) || slices.Contains([]string{"null", `{"type":"text"}`}, m.GetValueJson()) || m.GetValueJson() == "" {
							t.Errorf("lost: %s %s", m.GetPath(), m.GetValueJson())
						}
					}
				})
			}
		}
	}
}
