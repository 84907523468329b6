package protocol

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// found lists what a visitor is called with: path=model, or path? if the model is not known.
func found(visit func(ModelVisitor) error) string {
	var all []string
	err := visit(func(path, model string, named bool) error {
		if !named {
			path += "?"
		} else {
			path += "=" + model
		}
		all = append(all, path)
		return nil
	})
	if err != nil {
		all = append(all, err.Error())
	}
	return strings.Join(all, " ")
}

func TestEachModel(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		// The model that the request is for is the gateway's own, unless the path names it.
		{"chat", `{"model":"m","messages":[]}`, ""},
		{"generatecontent", `{"model":"models/m"}`, "model=m"},
		{"generatecontent", `{"generateContentRequest":{"model":"models/m","generationConfig":{"modelSelectionConfig":{}},"tools":[{"functionDeclarations":[{"parameters":{"properties":{"model":{}}}}]}]}}`,
			"generateContentRequest.model=m generateContentRequest.generationConfig.modelSelectionConfig?"},
		{"generatecontent", `{"generationConfig":{"routingConfig":{"manualMode":{"modelName":"publishers/google/models/g"}}}}`, "generationConfig.routingConfig.manualMode.modelName=g"},
		{"generatecontent", `{"generation_config":{"routing_config":{"manual_mode":{"model_name":"g"}}}}`, "generation_config.routing_config.manual_mode.model_name=g"},
		// Names are the caller's in schemas, arguments and metadata.
		{"chat", `{"model":"m","metadata":{"model":"x"},"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"model":{"type":"string"}},"$defs":{"model":{}},"required":["model"],"default":{"model":"x"},"anyOf":[{"properties":{"models":{}}}]}}}],` +
			`"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"model\":1}"}}]}],"response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"svg_model":{}}}}},"chat_template_kwargs":{"model_identity":"x"}}`, ""},
		{"responses", `{"tools":[{"type":"function","name":"f","parameters":{"properties":{"model":{}}}},{"type":"mcp","headers":{"x-model":"y"}}],"text":{"format":{"schema":{"properties":{"model":{}}}}},` +
			`"input":[{"type":"tool_search_call","arguments":{"model":"x"}},{"type":"mcp_list_tools","tools":[{"input_schema":{"properties":{"model":{}}},"annotations":{"model":1}}]},{"type":"image_generation_call","svg_usage":{"model":"x"}}]}`, ""},
		{"messages", `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"model":{}}},"input_examples":[{"model":"x"}]}],"output_config":{"format":{"schema":{"properties":{"model":{}}}}},` +
			`"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"model":"x"}},{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}]}]}`, ""},
		{"generatecontent", `{"labels":{"model":"x"},"modelArmorConfig":{},"contents":[{"role":"model","parts":[{"functionCall":{"args":{"model":"x"}}},{"function_response":{"response":{"model":"x"}}}]}],` +
			`"tools":[{"function_declarations":[{"parameters_json_schema":{"properties":{"model":{}}}}]}],"generationConfig":{"_responseJsonSchema":{"properties":{"model":{}}}}}`, ""},
		{"interactions", `{"model":"m","labels":{"model":"x"},"tools":[{"type":"function","name":"f","parameters":{"properties":{"model":{}}}},{"type":"mcp_server","headers":{"x-model":"y"}}],` +
			`"input":[{"type":"function_call","arguments":{"model":"x"}},{"type":"function_result","result":{"model":"x"}}],"response_format":{"type":"text","schema":{"properties":{"model":{}}}}}`, ""},
		{"interactions", `{"tools":[{"type":"retrieval","rag_store_config":{"rag_retrieval_config":{"ranking":{"model_name":"r"}}}}]}`, "tools[0].rag_store_config.rag_retrieval_config.ranking.model_name=r"},
		// OpenRouter's tools have parameters that are no schema.
		{"responses", `{"tools":[{"type":"openrouter:advisor","parameters":{"model":"x","advisors":[{"model":"y"}]}}]}`, "tools[0].parameters.model=x tools[0].parameters.advisors[0].model?"},
		// Lists of names.
		{"chat", `{"models":["a","b",{"id":"c"},["d"],5,null]}`, "models[0]=a models[1]=b models[2]? models[3][0]=d models[4]?"},
		{"chat", `{"fallbacks":["a",{"model":"b","messages":[]}]}`, "fallbacks[0]=a fallbacks[1].model=b"},
		{"messages", `{"fallbacks":"default"}`, "fallbacks?"},
		{"messages", `{"fallbacks":[{"model":"a"},{"model":["b"]},{"model":{"id":"c"}},{"model":7},{"model":null},{"model":""}]}`,
			"fallbacks[0].model=a fallbacks[1].model[0]=b fallbacks[2].model? fallbacks[3].model? fallbacks[5].model="},
		{"messages", `{"fallbacks":null,"tools":null}`, ""},
		{"messages", `{"fallbacks":[],"tools":[]}`, ""},
		{"messages", `{"fallbacks":0}`, "fallbacks?"},
		{"images", `{"svg":{"model":"a"},"svgModel":"b"}`, "svg.model=a svgModel?"},
		{"messages", `{"fallbacks":{"model":"a"}}`, "fallbacks.model=a"},
		{"generatecontent", `{"contents":{"parts":{"functionCall":{"args":{"model":"x"}}}}}`, ""},
		// Unknown members.
		{"chat", `{"x":{"Model":"a","MODELS":1,"y_model":true,"yModel":{},"y.model":[],"model-id":"b","submodel":"c","model_x":null}}`,
			"x.Model? x.MODELS? x.y_model? x.yModel? x.y.model? x.model-id? x.submodel?"},
		{"chat", `{"x":{"mod\u0065l":"a","m\\odel":"b"}}`, "x.model?"},
		{"chat", `{"x":{"mode":"a","modeLevel":"b","search_mode":"c","mod":"e","odel":"f","modality":1}}`, ""},
		{"chat", `{"Metadata":{"model":"a"}}`, "Metadata.model?"},
		{"chat", `{"x":[[[{"model":"a"}]]],"y":{"properties":{"model":"b"}}}`, "x[0][0][0].model? y.properties.model?"},
		// Texts are no members.
		{"chat", `{"messages":[{"role":"user","content":"{\"model\":\"a\"} \\"}],"stop":["model","models"]}`, ""},
		{"chat", `{ "models" : [ "a" , "b" ] , "x" : { "model" : 9007199254740993 } }`, "models[0]=a models[1]=b x.model?"},
		{"chat", `{"models":["a"],"models":["b"]}`, "models[0]=a models[0]=b"},
		{"chat", `{"a":1,"model`, "the body is not a JSON object"},
	} {
		if got := found(func(v ModelVisitor) error { return ByKind(c.kind).EachModel([]byte(c.body), v) }); got != c.want {
			t.Errorf("%s %s\n%s, want\n%s", c.kind, c.body, got, c.want)
		}
	}
	// A protocol that declares nothing.
	if got := found(func(v ModelVisitor) error { return unknown.EachModel([]byte(`{"model":"a","x":{"model":"b"}}`), v) }); got != "x.model?" {
		t.Error(got)
	}
}

// A body that is cut anywhere has no error but that it is no JSON, and one that is deep needs no time
// that grows faster than it.
func TestEachModelOfBrokenBodies(t *testing.T) {
	whole := []byte(`{"fallbacks":[{"model":"a\"\\"}, {"x":[1,-2.5e3,true,null,"\u0065"]}],"svg":{"model":"b"}}`)
	for i := range whole {
		err := ByKind("messages").EachModel(whole[:i], func(string, string, bool) error { return nil })
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Reason != fault.ReasonMalformedJSON {
			t.Errorf("%s: %v", whole[:i], err)
		}
	}
	const depth = 10_000
	deep := bytes.Repeat([]byte(`{"a":[`), depth/2)
	deep = append(append(deep, `{"model":"x"}`...), bytes.Repeat([]byte(`]}`), depth/2)...)
	if got := found(func(v ModelVisitor) error { return ByKind("chat").EachModel(deep, v) }); !strings.HasSuffix(got, ".a[0].model?") {
		t.Errorf("%.100s", got)
	}
}

func TestEachModelStops(t *testing.T) {
	stop, calls := errors.New("stop"), 0
	err := ByKind("chat").EachModel([]byte(`{"models":["a","b"],"x_model":1}`), func(string, string, bool) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}
}

// Requests in the contract are looked at wherever JSON passes to upstreams as it is.
func TestEachModelOf(t *testing.T) {
	native := func(name, json string) []*genwayv1.NativeField {
		return []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Name: name, Json: []byte(json)}}
	}
	opaque := func(json string) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Json: []byte(json)}}}
	}
	hosted := func(json string) *genwayv1.Tool {
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Json: []byte(json)}}}
	}
	result := func(parts ...*genwayv1.Part) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{Parts: parts}}}
	}
	text := codec.TextPart("model")
	text.NativeFields = native("x_model", `"a"`)
	for _, c := range []struct {
		req  proto.Message
		want string
	}{
		{&genwayv1.GenerateTextRequest{Model: "m", Metadata: map[string]string{"model": "x"}, ExtraJson: `{"models":["a"],"svg":{"model":"b"},"fallbacks":"default","x_model":1,"metadata":{"model":1},"modelSelectionConfig":{}}`},
			"extra_json.models[0]=a extra_json.svg.model=b extra_json.fallbacks? extra_json.x_model? extra_json.modelSelectionConfig?"},
		{&genwayv1.GenerateTextRequest{NativeFields: native("models", `["a"]`), Messages: []*genwayv1.Message{{NativeFields: native("y", `{"model":"b"}`)}}}, "messages[0].y.model? models[0]=a"},
		{&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{{}, {Parts: []*genwayv1.Part{text, result(opaque(`{"tools":[{"model":"a"}]}`))}}}},
			"messages[1].parts[0].x_model? messages[1].parts[1].tool_result.parts[0].opaque.json.tools[0].model=a"},
		{&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{{Parts: []*genwayv1.Part{
			opaque(`{"type":"fallback","from":{"model":"a"}}`), opaque(`{"type":"server_tool_use","input":{"x":1}}`), opaque(`{"tool":{"definition":{"model":"b"}}}`),
		}}}}, "messages[0].parts[2].opaque.json.tool.definition.model=b"},
		{&genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{
			hosted(`{"type":"advisor_20260301","model":"a"}`), hosted(`{"type":"image_generation","svg":{"model":"b"}}`),
			{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "model", ParametersJson: `{"properties":{"model":{}}}`}}},
			hosted(`{"retrieval":{"vertexRagStore":{"ragRetrievalConfig":{"ranking":{"llmRanker":{"modelName":"c"}}}}}}`),
		}}, "tools[0].hosted.json.model=a tools[1].hosted.json.svg.model=b tools[3].hosted.json.retrieval.vertexRagStore.ragRetrievalConfig.ranking.llmRanker.modelName=c"},
		{&genwayv1.GenerateTextRequest{
			ToolChoice: &genwayv1.ToolChoice{Native: native("x", `{"model":"a"}`)[0]}, ResponseFormat: &genwayv1.ResponseFormat{SchemaJson: `{"model":1}`, Native: native("model", `"b"`)[0]},
			Thinking: &genwayv1.ThinkingConfig{NativeFields: native("model", `"c"`)}, AudioOutput: &genwayv1.AudioOutput{NativeFields: native("model", `"d"`)},
		}, "tool_choice.native.x.model? response_format.native.model=b thinking.model=c audio_output.model=d"},
		{&genwayv1.CountTokensRequest{Request: &genwayv1.GenerateTextRequest{ExtraJson: `{"models":["a"]}`}}, "request.extra_json.models[0]=a"},
		{&genwayv1.GenerateImageRequest{Model: "m", ExtraJson: `{"svg":{"model":"a"}}`, NativeFields: native("model", `"b"`)}, "extra_json.svg.model=a model=b"},
		{&genwayv1.GenerateTextRequest{NativeFields: []*genwayv1.NativeField{{Name: "model"}}}, ""},
	} {
		if got := found(func(v ModelVisitor) error { return EachModelOf(c.req, v) }); got != c.want {
			t.Errorf("%v\n%s, want\n%s", c.req, got, c.want)
		}
	}
}

// BenchmarkEachModel is what a body costs whose key has a list of models.
func BenchmarkEachModel(b *testing.B) {
	for _, size := range []int{1, 1000} {
		turn := `{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("The model said \\\"no\\\". ", 40) + `"}]}`
		body := []byte(`{"model":"m","messages":[` + strings.Repeat(turn+",", size-1) + turn + `]}`)
		b.Run(strconv.Itoa(len(body)), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := ByKind("chat").EachModel(body, func(string, string, bool) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
