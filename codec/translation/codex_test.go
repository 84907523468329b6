package translation

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// codex is a request as Codex writes it: its tools come in an item of the
// conversation, in namespaces, and one of them is free-form.
const codex = `{"model":"m","stream":true,"store":false,"parallel_tool_calls":false,"reasoning":{"effort":"low","summary":"auto"},
 "tool_choice":"auto","input":[
 {"type":"additional_tools","id":"at_1","role":"developer","tools":[
  {"type":"namespace","name":"functions","description":"Basic tools.","tools":[
   {"type":"custom","name":"exec","description":"Runs a program.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},
   {"type":"function","name":"wait","description":"Waits.","strict":false,"parameters":{"type":"object","properties":{"ms":{"type":"number"}}}}]}]},
 {"type":"message","role":"developer","content":[{"type":"input_text","text":"Work."}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"List the files."}]},
 {"type":"custom_tool_call","call_id":"call_1","namespace":"functions","name":"exec","input":"ls \"x\"\n"},
 {"type":"custom_tool_call_output","call_id":"call_1","output":"a.txt"},
 {"type":"function_call","call_id":"call_2","namespace":"functions","name":"wait","arguments":"{\"ms\":1}"},
 {"type":"function_call_output","call_id":"call_2","output":"done"}]}`

// An upstream of any protocol gets the tools that the conversation brings, under names
// all protocols take, and the calls of them; of what it gets nothing else is lost than
// what it has no place for.
func TestToolsOfNamespacesReachEveryUpstream(t *testing.T) {
	asked, err := responses.Codec{}.DecodeRequest([]byte(codex))
	if err != nil {
		t.Fatal(err)
	}
	for to, target := range codecs {
		if to == "responses" {
			continue
		}
		t.Run(to, func(t *testing.T) {
			var lost codec.Losses
			body, err := target.EncodeRequest(asked, &lost)
			if err != nil {
				t.Fatal(err)
			}
			got, err := target.DecodeRequest(body)
			if err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			var names, calls []string
			for _, tool := range got.Tools {
				names = append(names, tool.GetFunction().GetName()+tool.GetCustom().GetName())
			}
			if !slices.Equal(names, []string{"functions__exec", "functions__wait"}) {
				t.Errorf("the tools are %q in %s", names, body)
			}
			for _, m := range got.Messages {
				for _, p := range m.Parts {
					if call := p.GetToolCall(); call != nil {
						calls = append(calls, call.Name)
					}
				}
			}
			if !slices.Equal(calls, names) {
				t.Errorf("the calls are %q in %s", calls, body)
			}
			if strings.Contains(string(body), "additional_tools") {
				t.Errorf("the item is there: %s", body)
			}
			for _, l := range lost.List() {
				if strings.Contains(l.Member, "=") || strings.Contains(l.Member, "lifted") || strings.Contains(l.Member, "opaque") {
					t.Errorf("named as lost: %s: %s", l.Member, l.Reason)
				}
			}
			if !isLost(lost.List(), "tools[0].namespace.description") {
				t.Errorf("the description of the namespace is lost in silence: %v", lost.List())
			}
		})
	}
}

// What an upstream of any protocol calls by the names it got is, to the caller, a call
// of the tool in its namespace, and of the free-form one with text; its thinking is the
// summary the caller asked for. A stream says the same.
func TestCallsOfNamespacesReachTheCaller(t *testing.T) {
	caller := responses.Codec{}
	asked, err := caller.DecodeRequest([]byte(codex))
	if err != nil {
		t.Fatal(err)
	}
	canonical := &genwayv1.GenerateTextResponse{Id: "a1", Model: "m", Candidates: []*genwayv1.Candidate{{
		StopReason: genwayv1.StopReason_STOP_REASON_TOOL_CALL,
		Parts: []*genwayv1.Part{
			{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Let me look."}}},
			{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_3", Name: "functions__exec", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"input":"ls \"y\"\n"}`}}}},
			{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_4", Name: "functions__wait", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"ms":2}`}}}},
		},
	}}}
	const custom = `"input":"ls \"y\"\n","call_id":"call_3","namespace":"functions","name":"exec"}`
	const function = `"arguments":"{\"ms\":2}","call_id":"call_4","namespace":"functions","name":"wait"}`
	const summary = `"summary":[{"type":"summary_text","text":"Let me look."}]`
	for from, upstream := range codecs {
		if from == "responses" {
			continue
		}
		t.Run(from, func(t *testing.T) {
			body, err := upstream.EncodeResponse(proto.CloneOf(canonical), codec.Answer{})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := upstream.DecodeResponse(body)
			if err != nil {
				t.Fatal(err)
			}
			codec.NewFreeForm(asked.Tools).Response(answer)
			unary, err := caller.EncodeResponse(answer, codec.Answer{Request: asked})
			if err != nil {
				t.Fatal(err)
			}
			decoder := upstream.NewStreamDecoder()
			restore := codec.NewFreeForm(asked.Tools)
			var events []*genwayv1.StreamGenerateTextResponse
			for _, frame := range codectest.EncodeStream(t, upstream, codec.Events(proto.CloneOf(canonical), halves), codec.Answer{}) {
				evs, err := decoder.Decode(frame)
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, restore.Events(evs)...)
			}
			evs, err := decoder.Close()
			if err != nil {
				t.Fatal(err)
			}
			frames := codectest.EncodeStream(t, caller, append(events, restore.Events(evs)...), codec.Answer{Request: asked})
			last := string(frames[len(frames)-1].Data)
			for _, want := range []string{custom, function, summary} {
				if !strings.Contains(string(unary), want) {
					t.Errorf("unary: no %s in\n%s", want, unary)
				}
				if !strings.Contains(last, want) {
					t.Errorf("streamed: no %s in\n%s", want, last)
				}
			}
			all := codectest.Frames(frames)
			for _, want := range []string{"response.reasoning_summary_text.delta", "response.custom_tool_call_input.delta",
				"response.function_call_arguments.delta", `"call_id":"call_4","namespace":"functions","name":"wait"}`} {
				if !strings.Contains(all, want) {
					t.Errorf("streamed: no %s in\n%s", want, all)
				}
			}
			if strings.Contains(all+string(unary), "reasoning_text") {
				t.Errorf("reasoning_text to a caller who asked for a summary:\n%s\n%s", all, unary)
			}
		})
	}
}

func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}
