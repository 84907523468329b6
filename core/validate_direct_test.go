package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

func cached(ttl time.Duration) *genwayv1.CacheControl {
	return &genwayv1.CacheControl{Ttl: durationpb.New(ttl)}
}

// Options of extra_json that the request has a field for are refused in any spelling, whichever upstream is asked, as are those
// of which it is not clear what they say.
func TestU45ExtraJSON(t *testing.T) {
	f := serve(t)
	ctx := as(t, "authorization", "Bearer internal")
	for extra, param := range map[string]string{
		`{"messages":[]}`: "extra_json.messages", `{"thing":1,"model":"m"}`: "extra_json.model", `{"Max_Output_Tokens":1}`: "extra_json.Max_Output_Tokens",
		`{"toolChoice":null}`: "extra_json.toolChoice", `{"wire":{}}`: "extra_json.wire", `[]`: "extra_json", `{`: "extra_json", `null`: "extra_json", ` `: "extra_json",
		`{"a":1,"a":2}`: "extra_json", `{"a":1}{}`: "extra_json",
	} {
		req := request()
		req.ExtraJson = extra
		_, err := f.client.GenerateText(ctx, req)
		if d := detail(t, err); d.GetParam() != param || d.GetKind() != fault.InvalidRequest {
			t.Errorf("%s: %v, want %s", extra, err, param)
		}
	}
	_, err := f.client.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", ExtraJson: `{"outputFormat":"png"}`})
	if d := detail(t, err); d.GetParam() != "extra_json.outputFormat" {
		t.Errorf("of an image: %v", err)
	}
	req := request()
	req.ExtraJson = `{"thing":{"messages":[]}}`
	if _, err = f.client.GenerateText(ctx, req); err != nil && detail(t, err).GetKind() == fault.InvalidRequest {
		t.Errorf("an option of the vendor's: %v", err)
	}
}

// What a direct caller says that the contract has no meaning for is refused by its name before
// any upstream is asked, whichever that is, in all calls that take the request.
func TestU45DirectRequestsAreChecked(t *testing.T) {
	f := serve(t)
	ctx := as(t, "authorization", "Bearer internal")
	wrong := []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: "foo", Json: []byte("{")}}
	part := func(r *genwayv1.GenerateTextRequest) *genwayv1.Part { return r.GetMessages()[0].GetParts()[0] }
	tool := func(t *genwayv1.Tool) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) { r.Tools = []*genwayv1.Tool{t} }
	}
	result := func(inner *genwayv1.Part) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) {
			part(r).Kind = &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "c", Parts: []*genwayv1.Part{inner}}}
		}
	}
	for param, change := range map[string]func(*genwayv1.GenerateTextRequest){
		"messages[0].role":                                      func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Role = 99 },
		"messages[0].foo":                                       func(r *genwayv1.GenerateTextRequest) { r.Messages[0].NativeFields = wrong },
		"messages[0].parts[0].foo":                              func(r *genwayv1.GenerateTextRequest) { part(r).NativeFields = wrong },
		"messages[0].parts[0].tool_result.parts[0].kind":        result(&genwayv1.Part{}),
		"messages[0].parts[0].tool_result.parts[0].foo":         result(&genwayv1.Part{Kind: &genwayv1.Part_Text{}, NativeFields: wrong}),
		"messages[0].parts[0].tool_result.parts[0].tool_result": result(&genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{}}}),
		"messages[0].parts[0].opaque.json": func(r *genwayv1.GenerateTextRequest) {
			part(r).Kind = &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Type: "x", Json: []byte("{")}}
		},
		"tools[0].kind":                     tool(&genwayv1.Tool{}),
		"tools[0].foo":                      tool(&genwayv1.Tool{Kind: &genwayv1.Tool_Function{}, NativeFields: wrong}),
		"tools[0].function.parameters_json": tool(&genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", ParametersJson: "{"}}}),
		"tools[0].custom.format_json":       tool(&genwayv1.Tool{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "f", FormatJson: "{"}}}),
		"tools[0].hosted.json":              tool(&genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Type: "f", Json: []byte("{")}}}),
		"tool_choice.mode":                  func(r *genwayv1.GenerateTextRequest) { r.ToolChoice = &genwayv1.ToolChoice{Mode: 99} },
		"tool_choice.native.json":           func(r *genwayv1.GenerateTextRequest) { r.ToolChoice = &genwayv1.ToolChoice{Native: wrong[0]} },
		"response_format.kind":              func(r *genwayv1.GenerateTextRequest) { r.ResponseFormat = &genwayv1.ResponseFormat{Kind: -1} },
		"response_format.native.json":       func(r *genwayv1.GenerateTextRequest) { r.ResponseFormat = &genwayv1.ResponseFormat{Native: wrong[0]} },
		"response_format.schema_json": func(r *genwayv1.GenerateTextRequest) {
			r.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: "{}{}"}
		},
		"thinking.mode": func(r *genwayv1.GenerateTextRequest) { r.Thinking = &genwayv1.ThinkingConfig{Mode: 2147483647} },
		"thinking.budget_tokens": func(r *genwayv1.GenerateTextRequest) {
			r.Thinking = &genwayv1.ThinkingConfig{Effort: "high", BudgetTokens: new(int32(0))}
		},
		"thinking.foo":                           func(r *genwayv1.GenerateTextRequest) { r.Thinking = &genwayv1.ThinkingConfig{NativeFields: wrong} },
		"audio_output.foo":                       func(r *genwayv1.GenerateTextRequest) { r.AudioOutput = &genwayv1.AudioOutput{NativeFields: wrong} },
		"foo":                                    func(r *genwayv1.GenerateTextRequest) { r.NativeFields = wrong },
		"messages[0].parts[0].cache_control.ttl": func(r *genwayv1.GenerateTextRequest) { part(r).CacheControl = cached(time.Nanosecond) },
		"messages[0].parts[0].tool_result.parts[0].cache_control.ttl": result(&genwayv1.Part{Kind: &genwayv1.Part_Text{}, CacheControl: cached(0)}),
		"tools[0].cache_control.ttl":                                  tool(&genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f"}}, CacheControl: cached(-time.Second)}),
		"cache_control.ttl":                                           func(r *genwayv1.GenerateTextRequest) { r.CacheControl = cached(1 << 31 * time.Second) },
		"extra_json":                                                  func(r *genwayv1.GenerateTextRequest) { r.ExtraJson = " [] " },
	} {
		req := request()
		change(req)
		check := func(call, param string, err error) {
			t.Helper()
			if d := detail(t, err); d.GetParam() != param || d.GetKind() != fault.InvalidRequest || !strings.Contains(d.GetMessage(), param) {
				t.Errorf("%s of %s: %v", call, param, d)
			}
		}
		_, err := f.client.GenerateText(ctx, req)
		check("GenerateText", param, err)
		stream, err := f.client.StreamGenerateText(ctx, req)
		if err == nil {
			_, err = stream.Recv()
		}
		check("StreamGenerateText", param, err)
		_, err = f.client.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: req})
		check("CountTokens", "request."+param, err)
	}
	many := int32(101)
	none := int32(0)
	for param, req := range map[string]*genwayv1.GenerateImageRequest{
		"count":              {Count: &none},
		"output_compression": {OutputCompression: &many},
		"partial_images":     {PartialImages: &many},
		"foo":                {NativeFields: wrong},
		"extra_json":         {ExtraJson: "{"},
	} {
		req.Model, req.Prompt = "m", "p"
		_, err := f.client.GenerateImage(ctx, req)
		if d := detail(t, err); d.GetParam() != param || d.GetKind() != fault.InvalidRequest {
			t.Errorf("GenerateImage of %s: %v", param, d)
		}
	}
	if f.seen != nil {
		t.Errorf("an upstream was asked: %v", f.seen)
	}
}
