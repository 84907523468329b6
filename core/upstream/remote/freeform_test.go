package remote_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// An upstream without free-form tools is offered a function, and what it calls is to
// the caller a call with text, streamed or not.
func TestFreeFormTools(t *testing.T) {
	const unary = `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},
		"content":[{"type":"tool_use","id":"toolu_1","name":"run","input":{"input":"ls -l"}}]}`
	const stream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"run","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"input\":\"l"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"s -l\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`
	req := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("list")},
		Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "run", Description: "Runs."}}}}}
	check := func(resp *genwayv1.GenerateTextResponse) {
		t.Helper()
		if call := resp.GetCandidates()[0].GetParts()[0].GetToolCall(); call.GetInput() != "ls -l" || call.GetArgumentsJson() != "" {
			t.Errorf("called %v", call)
		}
	}

	u, seen := serve(t, genwayv1.Protocol_PROTOCOL_MESSAGES, "", unary)
	resp, err := u.GenerateText(t.Context(), deferred.New(req))
	if err != nil {
		t.Fatal(err)
	}
	check(resp)
	if !strings.Contains(seen.body, `"tools":[{"name":"run","description":"Runs.","input_schema":{"type":"object","properties":{"input":{"type":"string"`) {
		t.Errorf("offered %s", seen.body)
	}

	u, _ = serve(t, genwayv1.Protocol_PROTOCOL_MESSAGES, "", stream)
	var fold codec.Accumulator
	if err := u.StreamGenerateText(t.Context(), deferred.New(req), fold.Add); err != nil {
		t.Fatal(err)
	}
	check(fold.Response())
}
