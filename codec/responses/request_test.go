package responses_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func TestRequestsThatAreRefused(t *testing.T) {
	for _, test := range []struct{ name, body, reason, param string }{
		{"no model", `{"input":"x"}`, fault.ReasonMissingMember, "model"},
		{"no input", `{"model":"m"}`, fault.ReasonMissingMember, "input"},
		{"null input", `{"model":"m","input":null}`, fault.ReasonMissingMember, "input"},
		{"empty input", `{"model":"m","input":[]}`, fault.ReasonMissingMember, "input"},
		{"number input", `{"model":"m","input":5}`, fault.ReasonInvalidMember, "input"},
		{"number item", `{"model":"m","input":[5]}`, fault.ReasonInvalidMember, "input[0]"},
		{"number model", `{"model":1,"input":"x"}`, fault.ReasonInvalidMember, "model"},
		{"no role", `{"model":"m","input":[{"content":"x"}]}`, fault.ReasonMissingMember, "input[0].role"},
		{"unknown role", `{"model":"m","input":[{"role":"critic","content":"x"}]}`, fault.ReasonInvalidMember, "input[0].role"},
		{"no content", `{"model":"m","input":[{"role":"user"}]}`, fault.ReasonMissingMember, "input[0].content"},
		{"number content", `{"model":"m","input":[{"role":"user","content":7}]}`, fault.ReasonInvalidMember, "input[0].content"},
		{"number text", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":7}]}]}`, fault.ReasonInvalidMember, "input[0].content[0].text"},
		{"untyped part", `{"model":"m","input":[{"role":"user","content":[{"text":"x"}]}]}`, fault.ReasonMissingMember, "input[0].content[0].type"},
		{"string part", `{"model":"m","input":[{"role":"user","content":["x"]}]}`, fault.ReasonInvalidMember, "input[0].content[0]"},
		{"number type", `{"model":"m","input":[{"type":1}]}`, fault.ReasonInvalidMember, "input[0].type"},
		{"image without source", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]}`, fault.ReasonMissingMember, "input[0].content[0].image_url"},
		{"broken image", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%"}]}]}`, fault.ReasonInvalidMember, "input[0].content[0].image_url"},
		{"file without source", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file"}]}]}`, fault.ReasonMissingMember, "input[0].content[0].file_data"},
		{"broken file", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_data":"%"}]}]}`, fault.ReasonInvalidMember, "input[0].content[0].file_data"},
		{"audio without data", `{"model":"m","input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav"}}]}]}`, fault.ReasonMissingMember, "input[0].content[0].input_audio.data"},
		{"call without id", `{"model":"m","input":[{"type":"function_call","name":"f","arguments":"{}"}]}`, fault.ReasonMissingMember, "input[0].call_id"},
		{"call without name", `{"model":"m","input":[{"type":"function_call","call_id":"c","arguments":"{}"}]}`, fault.ReasonMissingMember, "input[0].name"},
		{"object arguments", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":{}}]}`, fault.ReasonInvalidMember, "input[0].arguments"},
		{"T19 output without id", `{"model":"m","input":[{"type":"function_call_output","output":"x"}]}`, fault.ReasonMissingMember, "input[0].call_id"},
		{"output without output", `{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}`, fault.ReasonMissingMember, "input[0].output"},
		{"untyped tool", `{"model":"m","input":"x","tools":[{"name":"f"}]}`, fault.ReasonMissingMember, "tools[0].type"},
		{"nameless tool", `{"model":"m","input":"x","tools":[{"type":"function"}]}`, fault.ReasonMissingMember, "tools[0].name"},
		{"string schema", `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":"{}"}]}`, fault.ReasonInvalidMember, "tools[0].parameters"},
		{"number choice", `{"model":"m","input":"x","tool_choice":3}`, fault.ReasonInvalidMember, "tool_choice"},
		{"untyped format", `{"model":"m","input":"x","text":{"format":{}}}`, fault.ReasonMissingMember, "text.format.type"},
		{"nameless format", `{"model":"m","input":"x","text":{"format":{"type":"json_schema","schema":{}}}}`, fault.ReasonMissingMember, "text.format.name"},
		{"schemaless format", `{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"n"}}}`, fault.ReasonMissingMember, "text.format.schema"},
		{"no tokens", `{"model":"m","input":"x","max_output_tokens":0}`, fault.ReasonInvalidMember, "max_output_tokens"},
		{"number metadata", `{"model":"m","input":"x","metadata":{"a":1}}`, fault.ReasonInvalidMember, "metadata.a"},
		{"cut", `{"model":"m"`, fault.ReasonMalformedJSON, ""},
		{"F9 twice", `{"model":"m","input":[{"role":"user","role":"user","content":"x"}]}`, fault.ReasonMalformedJSON, "input[0].role"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.DecodeRequest([]byte(test.body))
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("taken: %v", err)
			}
			if f.Kind != fault.InvalidRequest || f.Reason != test.reason || f.Param != test.param {
				t.Errorf("%v %s %q: %s", f.Kind, f.Reason, f.Param, f.Message)
			}
		})
	}
}

// Members that bring the conversation from elsewhere replace the input.
func TestInputMayComeFromElsewhere(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","previous_response_id":"resp_1"}`,
		`{"model":"m","conversation":"conv_1"}`,
		`{"model":"m","prompt":{"id":"p"},"input":[]}`,
	} {
		req, err := c.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if len(req.Messages) != 0 || !req.NativeFields[0].Binding {
			t.Errorf("%s: %v", body, req)
		}
	}
	req, err := c.DecodeRequest([]byte(`{"model":"m","input":"x","background":false}`))
	if err != nil || req.NativeFields[0].Binding {
		t.Errorf("background that is off binds: %v, %v", req, err)
	}
}

func TestUpstreamsThatCannot(t *testing.T) {
	two := int32(2)
	user := func(p *genwayv1.Part) []*genwayv1.Message {
		return []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{p}}}
	}
	chat := genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	native := &genwayv1.NativeField{Protocol: chat, Name: "web_search_options", Json: []byte("{}"), Binding: true}
	media := func(url string) *genwayv1.Media { return &genwayv1.Media{Source: &genwayv1.Media_Url{Url: url}} }
	for _, test := range []struct {
		name  string
		req   *genwayv1.GenerateTextRequest
		param string
	}{
		{"F7 stop", &genwayv1.GenerateTextRequest{StopSequences: []string{"x"}}, "stop_sequences"},
		{"n", &genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{CandidateCount: &two}}, "sampling.candidate_count"},
		{"modalities", &genwayv1.GenerateTextRequest{Modalities: []string{"text", "audio"}}, "modalities"},
		{"enum format", &genwayv1.GenerateTextRequest{ResponseFormat: &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_ENUM}}, "response_format"},
		{"foreign format", &genwayv1.GenerateTextRequest{ResponseFormat: &genwayv1.ResponseFormat{Native: native}}, "response_format"},
		{"foreign choice", &genwayv1.GenerateTextRequest{ToolChoice: &genwayv1.ToolChoice{Native: native}}, "tool_choice"},
		{"T14 foreign tool", &genwayv1.GenerateTextRequest{ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}, Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: chat, Type: "t"}}}}}, "tools[0].type"},
		{"no tool", &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{}}}, "tools[0]"},
		{"broken schema", &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", ParametersJson: "{"}}}}}, "tools[0].function.parameters_json"},
		{"binding", &genwayv1.GenerateTextRequest{NativeFields: []*genwayv1.NativeField{native}}, "web_search_options"},
		{"broken extra", &genwayv1.GenerateTextRequest{ExtraJson: "[]"}, "extra_json"},
		{"role", &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{{NativeRole: "critic"}}}, "messages[0].role"},
		{"video", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_Video{Video: media("x")}})}, "messages[0].parts[0].video"},
		{"audio url", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: media("x")}})}, "messages[0].parts[0].audio"},
		{"audio", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{
			MimeType: "audio/wav", Source: &genwayv1.Media_Data{Data: []byte("x")}}}})}, "messages[0].parts[0].audio"},
		{"foreign part", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: chat, Type: "t"}}})}, "messages[0].parts[0].opaque"},
		{"call of the user", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{}}})}, "messages[0].parts[0].tool_call"},
		{"assistant's image", &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_ASSISTANT,
			Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Image{Image: media("x")}}}}}}, "messages[0].parts[0].image"},
		{"video of a tool", &genwayv1.GenerateTextRequest{Messages: user(&genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "c",
			Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Video{Video: media("x")}}}}}})}, "messages[0].parts[0].tool_result.parts[0].video"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.req.Model = "m"
			body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: test.req}, nil)
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("sent %s", body)
			}
			if f.Kind != fault.InvalidRequest || f.Param != test.param {
				t.Errorf("%v %q: %s", f.Kind, f.Param, f.Message)
			}
		})
	}
}

func TestToolChoices(t *testing.T) {
	for _, test := range []struct{ name, wire, mode, names, rest string }{
		{"T13 required", `"required"`, "MODE_REQUIRED", "", ""},
		{"auto", `"auto"`, "MODE_AUTO", "", ""},
		{"none", `"none"`, "MODE_NONE", "", ""},
		{"F18 new word", `"validated"`, "MODE_UNSPECIFIED", "", "validated"},
		{"function", `{"type":"function","name":"f"}`, "MODE_REQUIRED", "f", ""},
		{"custom", `{"type":"custom","name":"x"}`, "MODE_REQUIRED", "x", ""},
		{"allowed", `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"custom","name":"x"}]}`, "MODE_AUTO", "f,x", "list"},
		{"hosted", `{"type":"web_search"}`, "MODE_UNSPECIFIED", "", "native"},
		{"mcp", `{"type":"mcp","server_label":"s","name":"n"}`, "MODE_UNSPECIFIED", "", "native"},
		{"allowed hosted", `{"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"}]}`, "MODE_UNSPECIFIED", "", "native"},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := `{"model":"m","input":"x","tools":[{"type":"custom","name":"x"}],"tool_choice":` + test.wire + `}`
			req, err := c.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			got := req.ToolChoice
			names, rest := strings.Join(got.Names, ","), got.NativeMode
			if got.AllowedList {
				rest = "list"
			}
			if got.Native != nil {
				rest = "native"
			}
			if got.Mode.String() != test.mode || names != test.names || rest != test.rest {
				t.Errorf("%v", got)
			}
			out, err := c.EncodeRequest(req, nil)
			if err != nil || string(out) != `{"model":"m","input":"x","tools":[{"type":"custom","name":"x"}],"tool_choice":`+test.wire+`}` {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	req, err := c.DecodeCountRequest([]byte(`{"model":"m","input":"x","personality":"friendly","temperature":1,"store":true}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.EncodeCountRequest(req, nil)
	if err != nil || string(body) != `{"model":"m","input":"x","personality":"friendly"}` {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := c.DecodeCountRequest([]byte(`{"input":"x"}`)); err == nil {
		t.Error("counted without a model")
	}
	resp, err := c.DecodeCountResponse([]byte(`{"object":"response.input_tokens","input_tokens":12}`))
	if err != nil || resp.InputTokens != 12 {
		t.Errorf("%v, %v", resp, err)
	}
	body, err = c.EncodeCountResponse(resp)
	if err != nil || string(body) != `{"object":"response.input_tokens","input_tokens":12}` {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := c.DecodeCountResponse([]byte(`[]`)); fault.From(err).Kind != fault.BadUpstream {
		t.Error(err)
	}
}
