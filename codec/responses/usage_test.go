package responses_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// Case U18: what a response says of usage outside of its usage is read, in each way in which a response comes: searches, the
// tokens of the image tool's model and of the author of an SVG, writes to a cache by their lifetime.
func TestUsageBesideUsage(t *testing.T) {
	const usage = `"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":1,"cache_write_tokens":6,"cache_write_tokens_details":{"ttl_12h_tokens":2,"ttl_30m_tokens":4}},"output_tokens":5,"total_tokens":15},"service_tier":"priority"`
	const search = `"tool_usage":{"image_gen":{"input_tokens":0,"output_tokens":0,"total_tokens":0},"web_search":{"num_requests":3}}`
	const draw = `"tool_usage":{"image_gen":{"input_tokens":40,"input_tokens_details":{"image_tokens":30,"text_tokens":10},"output_tokens":100,"output_tokens_details":{"image_tokens":90,"text_tokens":10},"total_tokens":140,"cached_tokens":8},"web_search":{"num_requests":0}}`
	const svg = `{"type":"image_generation_call","id":"ig_1","status":"completed","result":"PHN2Zy8+","svg_usage":{"input_tokens":7,"model":"gpt-svg","output_tokens":9,"reasoning_tokens":4,"total_tokens":16}}`
	drawn := func(model string) *genwayv1.ModelUsage {
		return &genwayv1.ModelUsage{Kind: "image_gen", Model: model, Usage: &genwayv1.Usage{InputTokens: 40, OutputTokens: 100, TotalTokens: 140,
			CacheReadInputTokens: proto.Int64(8), InputImageTokens: proto.Int64(30), OutputImageTokens: proto.Int64(90)}}
	}
	searches := []*genwayv1.ToolUsage{{Tool: "web_search", Calls: 3}}
	authored := &genwayv1.ModelUsage{Kind: "svg", Model: "gpt-svg", Usage: &genwayv1.Usage{InputTokens: 7, OutputTokens: 9, TotalTokens: 16, ThinkingTokens: proto.Int64(4)}}
	for name, c := range map[string]struct {
		members, output string
		want            *genwayv1.Usage
	}{
		"nothing":                 {usage, ``, &genwayv1.Usage{}},
		"searches":                {usage + `,` + search, ``, &genwayv1.Usage{Tools: searches}},
		"the tool's model":        {usage + `,` + draw + `,"tools":[{"type":"web_search"},{"type":"image_generation","model":"gpt-image-2"}]`, ``, &genwayv1.Usage{Models: []*genwayv1.ModelUsage{drawn("gpt-image-2")}}},
		"a model without a name":  {usage + `,` + draw, ``, &genwayv1.Usage{Models: []*genwayv1.ModelUsage{drawn("image_generation")}}},
		"the author of an SVG":    {usage, svg, &genwayv1.Usage{Models: []*genwayv1.ModelUsage{authored}}},
		"values of another type":  {usage + `,"tool_usage":7,"tools":"x"`, `{"type":"image_generation_call","svg_usage":[]}`, &genwayv1.Usage{}},
		"members of another type": {usage + `,"tool_usage":{"image_gen":null,"web_search":{"num_requests":"3"}}`, ``, &genwayv1.Usage{}},
		"a count below 0 is kept": {usage + `,"tool_usage":{"web_search":{"num_requests":-1}}`, ``, &genwayv1.Usage{Tools: []*genwayv1.ToolUsage{{Tool: "web_search", Calls: -1}}}},
		"all":                     {usage + `,"tool_usage":{"image_gen":{"input_tokens":40,"input_tokens_details":{"image_tokens":30},"output_tokens":100,"output_tokens_details":{"image_tokens":90},"total_tokens":140,"cached_tokens":8},"web_search":{"num_requests":3}}`, svg, &genwayv1.Usage{Models: []*genwayv1.ModelUsage{drawn("image_generation"), authored}, Tools: searches}},
	} {
		body := `{"id":"resp_1","model":"m","object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]}]}`
		if c.output != "" {
			body += "," + c.output
		}
		body += `],` + c.members + `}`
		stream := func(read func(codec.StreamDecoder, codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error)) *genwayv1.Usage {
			events, err := read(responses.Codec{}.NewStreamDecoder(), codec.Frame{Data: []byte(`{"type":"response.completed","response":` + body + `}`)})
			if err != nil {
				t.Fatal(name, err)
			}
			return events[len(events)-1].GetCompleted().GetUsage()
		}
		whole, err := responses.Codec{}.DecodeResponse([]byte(body))
		if err != nil {
			t.Fatal(name, err)
		}
		watched, _ := responses.Codec{}.WatchResponse([]byte(body))
		head, _ := responses.Codec{}.DecodeResponseHead([]byte(body))
		failed := &fault.Error{Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Json: []byte(`{"type":"response.failed","response":` + body + `}`)}}
		for way, u := range map[string]*genwayv1.Usage{
			"whole": whole.GetUsage(), "watched": watched.GetUsage(), "head": head.GetUsage(), "failed": responses.Codec{}.ErrorUsage(failed),
			"events": stream(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
				return d.Decode(f)
			}),
			"watched events": stream(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
				events, _, err := d.(codec.StreamWatcher).Watch(f)
				return events, err
			}),
		} {
			want := &genwayv1.Usage{
				InputTokens: 10, OutputTokens: 5, TotalTokens: 15, CacheReadInputTokens: proto.Int64(1), CacheWriteInputTokens: proto.Int64(6), ServiceTier: "priority",
				CacheWrites: []*genwayv1.CacheWrite{{Ttl: "12h", Tokens: 2}, {Ttl: "30m", Tokens: 4}}, Models: c.want.Models, Tools: c.want.Tools,
			}
			if diff := cmp.Diff(want, u, protocmp.Transform(), protocmp.IgnoreFields(&genwayv1.Usage{}, "native_fields")); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, way, diff)
			}
		}
	}
}
