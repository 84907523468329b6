package fit

import (
	"strings"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// compacted are the types of items that stand for turns which are not in the request any
// more: without them the conversation is another one.
var compacted = map[string]bool{"compaction": true, "compaction_summary": true, "context_compaction": true}

// texts says where parts keep text that any model can read, by their type: paths of
// members, each list with all its elements. The types are those of the vendors' SDKs.
var texts = map[string][]string{
	// messages: ContentBlockParamUnion
	"search_result":                          {"title", "source", "content.text"},
	"tool_reference":                         {"tool_name"},
	"advisor_tool_result":                    {"content.text"},
	"code_execution_tool_result":             {"content.stdout", "content.stderr"},
	"bash_code_execution_tool_result":        {"content.stdout", "content.stderr"},
	"text_editor_code_execution_tool_result": {"content.content"},
	// responses: ResponseInputItemUnionParam
	"code_interpreter_call": {"code", "outputs.logs"},
	"file_search_call":      {"results.text"},
	"shell_call_output":     {"output.stdout", "output.stderr"},
	// generateContent: Part
	"executableCode":      {"executableCode.code"},
	"codeExecutionResult": {"codeExecutionResult.output"},
}

// anyTexts are where a part of another type has its text, if it has.
var anyTexts = []string{"text", "content", "content.text", "output", "output.text"}

// text returns the text of an opaque part; "" when it has none.
func text(o *genwayv1.OpaquePart) string {
	paths, known := texts[o.GetType()]
	if !known {
		paths = anyTexts
	}
	var whole any
	if json.Unmarshal(o.GetJson(), &whole, member.Options()) != nil {
		return ""
	}
	var found []string
	for _, path := range paths {
		found = gather(found, whole, strings.Split(path, "."))
	}
	return strings.Join(found, "\n")
}

// resultText is the text of a tool's result.
func resultText(r *genwayv1.ToolResult) string {
	var found []string
	if r.ResultJson != nil {
		found = append(found, r.GetResultJson())
	}
	for _, p := range r.GetParts() {
		if text := p.GetText().GetText(); text != "" {
			found = append(found, text)
		}
	}
	return strings.Join(found, "\n")
}

// gather adds the texts at a path. Only white space is no text.
func gather(found []string, v any, path []string) []string {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			found = gather(found, element, path)
		}
	case map[string]any:
		if len(path) > 0 {
			found = gather(found, v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && strings.TrimSpace(v) != "" {
			found = append(found, v)
		}
	}
	return found
}
