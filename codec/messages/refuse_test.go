package messages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Bad requests are refused with the path of the member in this protocol.
func TestDecodeRequestSaysWhere(t *testing.T) {
	user := func(content string) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":` + content + `}]}`
	}
	with := func(members string) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],` + members + `}`
	}
	for _, tt := range []struct{ name, in, param string }{
		{"no model", `{"max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "model"},
		{"no max_tokens", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		{"null max_tokens", `{"model":"m","max_tokens":null,"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		{"zero max_tokens", `{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		{"text max_tokens", `{"model":"m","max_tokens":"x","messages":[]}`, "max_tokens"},
		{"no messages", `{"model":"m","max_tokens":1}`, "messages"},
		{"empty messages", `{"model":"m","max_tokens":1,"messages":[]}`, "messages"},
		{"messages of text", `{"model":"m","max_tokens":1,"messages":["x"]}`, "messages[0]"},
		{"no role", `{"model":"m","max_tokens":1,"messages":[{"content":"x"}]}`, "messages[0].role"},
		{"another role", `{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, "messages[0].role"},
		{"no content", `{"model":"m","max_tokens":1,"messages":[{"role":"user"}]}`, "messages[0].content"},
		{"content of numbers", user(`1`), "messages[0].content"},
		{"content object", user(`{"type":"text"}`), "messages[0].content"},
		{"block of text", user(`["x"]`), "messages[0].content[0]"},
		{"block without type", user(`[{"text":"x"}]`), "messages[0].content[0].type"},
		{"text of numbers", user(`[{"type":"text","text":1}]`), "messages[0].content[0].text"},
		{"no source", user(`[{"type":"image"}]`), "messages[0].content[0].source"},
		{"no source type", user(`[{"type":"image","source":{}}]`), "messages[0].content[0].source.type"},
		{"broken base64", user(`[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%%"}}]`), "messages[0].content[1].source.data"},
		{"no url", user(`[{"type":"image","source":{"type":"url"}}]`), "messages[0].content[0].source.url"},
		{"no file", user(`[{"type":"document","source":{"type":"file"}}]`), "messages[0].content[0].source.file_id"},
		{"no call id", user(`[{"type":"tool_use","name":"f"}]`), "messages[0].content[0].id"},
		{"no call name", user(`[{"type":"tool_use","id":"f"}]`), "messages[0].content[0].name"},
		{"input of text", user(`[{"type":"tool_use","id":"i","name":"f","input":"x"}]`), "messages[0].content[0].input"},
		{"no redacted data", user(`[{"type":"redacted_thinking"}]`), "messages[0].content[0].data"},
		{"within a result", user(`[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":[]}]}]`), "messages[0].content[0].content[0].text"},
		{"result of numbers", user(`[{"type":"tool_result","tool_use_id":"i","content":7}]`), "messages[0].content[0].content"},
		{"result without id", user(`[{"type":"tool_result","content":"x"}]`), "messages[0].content[0].tool_use_id"},
		{"a citation of text", user(`[{"type":"text","text":"x","citations":["c"]}]`), "messages[0].content[0].citations[0]"},
		{"system of numbers", with(`"system":1`), "system"},
		{"system block", with(`"system":[{"type":"text","text":1}]`), "system[0].text"},
		{"tool of text", with(`"tools":["f"]`), "tools[0]"},
		{"tool without name", with(`"tools":[{"input_schema":{}}]`), "tools[0].name"},
		{"tool without schema", with(`"tools":[{"name":"f"}]`), "tools[0].input_schema"},
		{"schema of text", with(`"tools":[{"name":"f","input_schema":"x"}]`), "tools[0].input_schema"},
		{"choice of text", with(`"tool_choice":"auto"`), "tool_choice"},
		{"choice without type", with(`"tool_choice":{}`), "tool_choice.type"},
		{"choice without name", with(`"tool_choice":{"type":"tool"}`), "tool_choice.name"},
		{"format without schema", with(`"output_config":{"format":{"type":"json_schema"}}`), "output_config.format.schema"},
		{"older format", with(`"output_format":{"type":"json_schema"}`), "output_format.schema"},
		{"thinking of text", with(`"thinking":"on"`), "thinking"},
		{"stream of text", with(`"stream":"yes"`), "stream"},
		{"twice", with(`"model":"n"`), "model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.DecodeRequest([]byte(tt.in))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || f.Param != tt.param {
				t.Fatalf("got %+v", f)
			}
			if !strings.Contains(f.Message, lastName(tt.param)) && f.Reason != fault.ReasonMalformedJSON {
				t.Errorf("the message does not say where: %q", f.Message)
			}
		})
	}
}

func lastName(path string) string {
	return path[strings.LastIndexAny(path, ".")+1:]
}

// What another protocol can ask for and this one cannot express is refused with
// the canonical path.
func TestEncodeRequestRefuses(t *testing.T) {
	part := func(p *genwayv1.Part) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Parts = []*genwayv1.Part{p} }
	}
	yes, two := true, int32(2)
	for _, tt := range []struct {
		param string
		set   func(*genwayv1.GenerateTextRequest)
	}{
		{"messages", func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Role = genwayv1.Role_ROLE_SYSTEM }},
		{"messages", part(&genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}})},
		{"messages[0].parts[0]", part(&genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{}}})},
		{"messages[0].parts[0]", part(&genwayv1.Part{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{}}})},
		{"messages[0].parts[0].opaque", part(&genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Type: "t"}}})},
		{"messages[0].parts[0].opaque", part(&genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: own, Json: []byte(`{},"model":"x"`)}}})},
		{"messages[0].parts[0].image", part(&genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{}}})},
		{"messages[0].parts[0].image.mime_type", part(&genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_Data{Data: []byte("?")}}}})},
		{"messages[0].parts[0].file", part(&genwayv1.Part{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "application/zip", Source: &genwayv1.Media_Data{Data: []byte("PK\xff")}}}})},
		{"messages[0].parts[0].tool_result.tool_call_id", part(&genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{Name: "f"}}})},
		{"messages[0].role", func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Role = 0 }},
		{"tools[0].type", func(r *genwayv1.GenerateTextRequest) {
			r.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES}}}}
			r.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}
		}},
		{"tools[0]", func(r *genwayv1.GenerateTextRequest) {
			r.Tools = []*genwayv1.Tool{{}}
		}},
		{"tools[0].function.parameters_json", func(r *genwayv1.GenerateTextRequest) {
			r.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", ParametersJson: `{}},{`}}}}
		}},
		{"tool_choice", func(r *genwayv1.GenerateTextRequest) { r.ToolChoice = &genwayv1.ToolChoice{NativeMode: "validated"} }},
		{"response_format", func(r *genwayv1.GenerateTextRequest) {
			r.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_ENUM}
		}},
		{"sampling.candidate_count", func(r *genwayv1.GenerateTextRequest) { r.Sampling = &genwayv1.Sampling{CandidateCount: &two} }},
		{"sampling.logprobs", func(r *genwayv1.GenerateTextRequest) { r.Sampling = &genwayv1.Sampling{Logprobs: &yes} }},
		{"modalities", func(r *genwayv1.GenerateTextRequest) { r.Modalities = []string{"text", "image"} }},
		{"previous_response_id", func(r *genwayv1.GenerateTextRequest) {
			r.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "previous_response_id", Json: []byte(`"r"`), Binding: true}}
		}},
		{"model", func(r *genwayv1.GenerateTextRequest) {
			r.NativeFields = []*genwayv1.NativeField{{Protocol: own, Name: "model", Json: []byte(`"dearer"`)}}
		}},
		{"extra_json", func(r *genwayv1.GenerateTextRequest) { r.ExtraJson = `[1]` }},
	} {
		t.Run(tt.param, func(t *testing.T) {
			r := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "x"}}}}}}}
			tt.set(r)
			body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: r}, nil)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || f.Param != tt.param {
				t.Fatalf("got %+v %s", f, body)
			}
		})
	}
}

// Answers that cannot be read are the upstream's fault, and their text stays inside.
func TestDecodeResponseRefuses(t *testing.T) {
	for _, in := range []string{
		``, `[]`, `{`, `{"type":"message","content":[{"type":"text","text":1}]}`, `{"type":"completion"}`,
		`{"type":"message","content":["secret"]}`, `{"type":"message","content":[{"type":"tool_use","name":"secret"}]}`,
	} {
		_, err := c.DecodeResponse([]byte(in))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.BadUpstream || strings.Contains(f.Message, "secret") {
			t.Errorf("%s gave %+v", in, f)
		}
	}
	_, err := c.DecodeResponse([]byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`))
	if f := fault.From(err); f.Kind != fault.RateLimited || f.Message != "slow down" {
		t.Errorf("an error in a body gave %+v", f)
	}
	for _, in := range []string{``, `{}`, `{"input_tokens":"x"}`} {
		if _, err := c.DecodeCountResponse([]byte(in)); fault.From(err).Kind != fault.BadUpstream {
			t.Errorf("%s gave %v", in, err)
		}
	}
}
