package fit_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func hostedTool(p genwayv1.Protocol, kind, json string) *genwayv1.Tool {
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: p, Type: kind, Json: []byte(json)}}}
}

// Tools that the caller runs are functions for other protocols, and stay what they are for their own and where another
// tool has the name. Tools that the vendor runs stay hosted.
func TestCallerTools(t *testing.T) {
	f := &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "shell"}}}
	for name, tt := range map[string]struct {
		tools []*genwayv1.Tool
		to    genwayv1.Protocol
		// want are the names of the functions, one a tool; - is a tool that stays hosted.
		want string
	}{
		"of messages":       {[]*genwayv1.Tool{hostedTool(messages, "bash_20241022", `{}`), hostedTool(messages, "text_editor_20250124", `{}`), hostedTool(messages, "memory_20250818", `{}`)}, chat, "bash str_replace_editor memory"},
		"newer editors":     {[]*genwayv1.Tool{hostedTool(messages, "text_editor_20270101", `{}`)}, chat, "str_replace_based_edit_tool"},
		"their own":         {[]*genwayv1.Tool{hostedTool(messages, "bash_20250124", `{}`)}, messages, "-"},
		"of responses":      {[]*genwayv1.Tool{hostedTool(responses, "apply_patch", `{}`), hostedTool(responses, "shell", `{"environment":null}`), hostedTool(responses, "local_shell", `{}`)}, messages, "apply_patch shell local_shell"},
		"a container":       {[]*genwayv1.Tool{hostedTool(responses, "shell", `{"environment":{"type":"container_auto"}}`)}, messages, "-"},
		"another's type":    {[]*genwayv1.Tool{hostedTool(chat, "shell", `{}`), hostedTool(responses, "bash_20250124", `{}`)}, messages, "- -"},
		"twice":             {[]*genwayv1.Tool{hostedTool(responses, "shell", `{}`), hostedTool(responses, "shell", `{}`)}, messages, "shell -"},
		"a name that is":    {[]*genwayv1.Tool{f, hostedTool(responses, "shell", `{}`)}, messages, "shell -"},
		"run by the vendor": {[]*genwayv1.Tool{hostedTool(messages, "code_execution_20250825", `{}`), hostedTool(messages, "bash_code_execution", `{}`), hostedTool(messages, "computer_20250124", `{}`)}, chat, "- - -"},
		"no type":           {[]*genwayv1.Tool{hostedTool(messages, "", ``), hostedTool(responses, "", `7`)}, chat, "- -"},
	} {
		t.Run(name, func(t *testing.T) {
			req := &genwayv1.GenerateTextRequest{Tools: tt.tools}
			was := proto.CloneOf(req)
			got := fit.CallerTools(req, tt.to)
			var names []string
			for _, tool := range got.GetTools() {
				if tool.GetHosted() != nil {
					names = append(names, "-")
					continue
				}
				names = append(names, tool.GetFunction().GetName())
			}
			if strings.Join(names, " ") != tt.want || !proto.Equal(req, was) {
				t.Errorf("%q, want %q; the request is %v", names, tt.want, req)
			}
			if again := fit.CallerTools(got, tt.to); again != got {
				t.Errorf("done again it became %v", again)
			}
		})
	}
}

// The members of a tool that have no place elsewhere are left for the encoder to name, and a breakpoint stays one.
func TestCallerToolsKeepMembers(t *testing.T) {
	req := &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{hostedTool(messages, "text_editor_20250728", `{"type":"text_editor_20250728","name":"n","cache_control":{"type":"ephemeral"},"max_characters":9}`)}}
	got := fit.CallerTools(req, chat).GetTools()[0]
	if got.GetCacheControl() == nil || len(got.GetNativeFields()) != 1 || got.GetNativeFields()[0].GetName() != "max_characters" {
		t.Errorf("%v", got)
	}
}

// A result whose call is not one of the caller's stays what it is, and so does a call that cannot be read.
func TestCallerHistory(t *testing.T) {
	for name, tt := range map[string]struct {
		call, output *genwayv1.Part
		// said is the result of the tool; - is one that stays an item.
		said  string
		fails bool
	}{
		"text":           {opaque("apply_patch_call", `{"call_id":"c","operation":{"type":"delete_file","path":"p"}}`), opaque("apply_patch_call_output", `{"call_id":"c","status":"completed","output":"done"}`), "done", false},
		"failed":         {opaque("apply_patch_call", `{"call_id":"c","operation":{}}`), opaque("apply_patch_call_output", `{"call_id":"c","status":"failed"}`), "failed", true},
		"null":           {opaque("apply_patch_call", `{"call_id":"c","operation":{}}`), opaque("apply_patch_call_output", `{"call_id":"c","output":null}`), "completed", false},
		"chunks":         {opaque("shell_call", `{"call_id":"c","action":{"commands":[]}}`), opaque("shell_call_output", `{"call_id":"c","output":[{"stdout":"a"}]}`), `{"output":[{"stdout":"a"}]}`, false},
		"by the item":    {opaque("local_shell_call", `{"id":"i","call_id":"c","action":{"command":[]}}`), opaque("local_shell_call_output", `{"id":"i","output":"x"}`), "x", false},
		"no action":      {opaque("shell_call", `{"call_id":"c"}`), opaque("shell_call_output", `{"call_id":"c","output":[]}`), "-", false},
		"no identifier":  {opaque("shell_call", `{"action":{}}`), opaque("shell_call_output", `{"output":[]}`), "-", false},
		"in a container": {opaque("shell_call", `{"call_id":"c","action":{},"environment":{"type":"container_reference","container_id":"x"}}`), opaque("shell_call_output", `{"call_id":"c","output":[]}`), "-", false},
		"another's":      {opaque("shell_call", `{"call_id":"c","action":{}}`), opaque("shell_call_output", `{"call_id":"d","output":[]}`), "-", false},
		"broken":         {opaque("shell_call", `{"call_id":"c","action":[`), opaque("shell_call_output", `[`), "-", false},
	} {
		t.Run(name, func(t *testing.T) {
			req := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, tt.call), turn(genwayv1.Role_ROLE_TOOL, tt.output)}}
			got := fit.CallerTools(req, chat).GetMessages()[1].GetParts()[0]
			said := "-"
			if r := got.GetToolResult(); r != nil {
				if said = r.GetResultJson(); len(r.GetParts()) > 0 {
					said = r.GetParts()[0].GetText().GetText()
				}
			}
			if said != tt.said || got.GetToolResult().GetIsError() != tt.fails {
				t.Errorf("%v, want %q", got, tt.said)
			}
		})
	}
}

// Calls come back as items however they are cut into events; one whose arguments are broken, or that the answer ends
// in, comes as it is.
func TestCallerCalls(t *testing.T) {
	tools := []*genwayv1.Tool{hostedTool(responses, "shell", `{}`)}
	answer := func(arguments string) *genwayv1.GenerateTextResponse {
		call := codec.CallPart("shell", arguments)
		call.ThoughtSignature = &genwayv1.Seal{Value: []byte("s")}
		other := codec.CallPart("look", arguments)
		return &genwayv1.GenerateTextResponse{Id: "r", Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{codec.TextPart("I run it."), call, other}}}}
	}
	for arguments, restored := range map[string]bool{`{"commands":["ls"]}`: true, `{}`: true, "{ }": true, `{"commands":`: false, ``: false, `null`: false, `[]`: false, `{"timeout_ms":9007199254740993}`: true} {
		unary := answer(arguments)
		fit.NewCallerCalls(tools, chat).Response(unary)
		parts := unary.GetCandidates()[0].GetParts()
		if item := parts[1].GetOpaque(); (item != nil) != restored || restored && (!strings.Contains(string(item.GetJson()), `"call_id":"call_gw`) || parts[1].GetThoughtSignature() == nil) {
			t.Errorf("%s became %v", arguments, parts[1])
		}
		if parts[2].GetToolCall() == nil {
			t.Errorf("another's call became %v", parts[2])
		}
		for _, size := range []int{1, 3, 1000} {
			split := func(s string) (pieces []string) {
				for ; s != ""; s = s[min(size, len(s)):] {
					pieces = append(pieces, s[:min(size, len(s))])
				}
				return pieces
			}
			restorer := fit.NewCallerCalls(tools, chat)
			var fold codec.Accumulator
			var sequence codec.Sequence
			for _, ev := range codec.Events(answer(arguments), split) {
				for _, out := range restorer.Events([]*genwayv1.StreamGenerateTextResponse{ev}) {
					if err := sequence.Check(out); err != nil {
						t.Fatal(err)
					}
					if err := fold.Add(out); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := fold.Response(); !proto.Equal(got, unary) {
				t.Errorf("%s in pieces of %d: %v\nunary: %v", arguments, size, got, unary)
			}
		}
	}
	if fit.NewCallerCalls(tools, responses) != nil || fit.NewCallerCalls(nil, chat) != nil {
		t.Error("there is something to restore for responses, or without tools")
	}
}
