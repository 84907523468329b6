package fit_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	messagescodec "github.com/genway/genway/codec/messages"
	responsescodec "github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// What a conversation says of its own settings and tools is folded into them, as the vendor reads it, and what cannot
// be read stays. Its own protocol gets it where it was said.
func TestUpdates(t *testing.T) {
	const tools = `"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"d","input_schema":{"type":"object"},"defer_loading":true}],`
	asked := func(system string) string {
		return `{"model":"m","max_tokens":9,` + tools + `"output_config":{"effort":"low"},"messages":[{"role":"user","content":"hi"},` + system + `]}`
	}
	input := func(items string) string {
		return `{"model":"m","reasoning":{"effort":"low"},"input":[{"role":"user","content":"hi"},` + items + `]}`
	}
	for name, tt := range map[string]struct {
		from   codec.Codec
		body   string
		effort string
		// tools are the names of the tools offered, format is the schema of the answer, and texts are the system turns'.
		tools, format, texts string
		// left is the number of items that stay.
		left int
	}{
		"the last effort":       {responsescodec.Codec{}, input(`{"type":"configuration_update","reasoning":{"effort":"high"}},{"role":"user","content":"go"},{"type":"configuration_update","reasoning":{"effort":"medium"}}`), "medium", "", "", "", 0},
		"null says nothing":     {responsescodec.Codec{}, input(`{"type":"configuration_update","reasoning":{"effort":null},"text":null}`), "low", "", "", "", 0},
		"a format":              {responsescodec.Codec{}, input(`{"type":"configuration_update","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}}`), "low", "", `{"type":"object"}`, "", 0},
		"text again":            {responsescodec.Codec{}, input(`{"type":"configuration_update","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}},{"type":"configuration_update","text":{"format":{"type":"text"}}}`), "low", "", "", "", 0},
		"a format of tomorrow":  {responsescodec.Codec{}, input(`{"type":"configuration_update","reasoning":{"effort":"high"},"text":{"format":{"type":"verse"}}}`), "low", "", "", "", 1},
		"a member of tomorrow":  {responsescodec.Codec{}, input(`{"type":"configuration_update","reasoning":{"effort":"high","mood":"calm"}}`), "low", "", "", "", 1},
		"another type":          {responsescodec.Codec{}, input(`{"type":"configuration_update","reasoning":{"effort":7}}`), "low", "", "", "", 1},
		"effort of a turn":      {messagescodec.Codec{}, asked(`{"role":"system","output_config":{"effort":"high"}},{"role":"system","content":"s","output_config":{"effort":"max"}}`), "max", "a d", "", "s", 0},
		"an empty one":          {messagescodec.Codec{}, asked(`{"role":"system","content":"s","output_config":{}}`), "low", "a d", "", "s", 0},
		"shown for a turn":      {messagescodec.Codec{}, asked(`{"role":"system","content":"gone","clear_at":"next_user_message"},{"role":"assistant","content":"x"},{"role":"user","content":"y"},{"role":"system","content":"still","clear_at":"next_user_message"},{"role":"system","content":"always","clear_at":"never"}`), "low", "a d", "", "still always", 0},
		"a tool is defined":     {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"b","input_schema":{"type":"object"}}}}]}`), "low", "a d b", "", "", 0},
		"and defined anew":      {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"a","description":"new","input_schema":{"type":"object"}}}}]}`), "low", "d a", "", "", 0},
		"a tool is removed":     {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"text","text":"s"},{"type":"tool_removal","tool":{"type":"tool_reference","name":"a"}}]}`), "low", "- d", "", "s", 0},
		"an unknown one is not": {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"z"}}]}`), "low", "a d", "", "", 1},
		"of a server":           {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"mcp_toolset_reference","name":"a"}}]}`), "low", "a d", "", "", 1},
		"without a schema":      {messagescodec.Codec{}, asked(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"b"}}}]}`), "low", "a d", "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := tt.from.DecodeRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			was := proto.CloneOf(req.GenerateTextRequest)
			got := fit.Updates(req.GenerateTextRequest, chat)
			if !proto.Equal(was, req.GenerateTextRequest) {
				t.Error("the request itself was changed")
			}
			if same := fit.Updates(req.GenerateTextRequest, tt.from.Protocol()); same != req.GenerateTextRequest {
				t.Errorf("its own protocol gets %v", same)
			}
			var names, texts []string
			for _, tool := range got.GetTools() {
				if tool.GetHosted() != nil {
					names = append(names, "-")
					continue
				}
				names = append(names, tool.GetFunction().GetName())
			}
			left := 0
			for _, m := range got.GetMessages() {
				for _, p := range m.GetParts() {
					if m.GetRole() == genwayv1.Role_ROLE_SYSTEM && p.GetText() != nil {
						texts = append(texts, p.GetText().GetText())
					}
					if p.GetOpaque().GetType() != "" {
						left++
					}
				}
				if len(m.GetNativeFields()) > 0 {
					t.Errorf("members are left: %v", m)
				}
			}
			if got.GetThinking().GetEffort() != tt.effort || strings.Join(names, " ") != tt.tools || got.GetResponseFormat().GetSchemaJson() != tt.format || strings.Join(texts, " ") != tt.texts || left != tt.left {
				t.Errorf("effort %q, tools %q, format %v, texts %q, %d items left: %v", got.GetThinking().GetEffort(), names, got.GetResponseFormat(), texts, left, got)
			}
		})
	}
}
