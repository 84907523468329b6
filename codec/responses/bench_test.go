package responses_test

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// bodies are requests of the sizes that matter: a short talk, one of a coding
// agent with its tools, one with a photograph.
func bodies() map[string]string {
	turn := `{"type":"message","role":"user","content":[{"type":"input_text","text":"` + strings.Repeat("word ", 80) + `"}]},` +
		`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\"q\":1}"},{"type":"function_call_output","call_id":"c","output":"` + strings.Repeat("line\\n", 80) + `"}`
	request := func(items string, tools string) string {
		return `{"model":"m","instructions":"Be brief.","stream":true,"store":false,"tools":[` + tools + `],"input":[` + items + `]}`
	}
	tool := `{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{"q":{"type":"string","description":"` + strings.Repeat("d", 400) + `"}}}}`
	photo := base64.StdEncoding.EncodeToString(make([]byte, 1_500_000*3/4))
	return map[string]string{
		"2KB":         request(turn+","+turn, tool),
		"100KB":       request(strings.Repeat(turn+",", 85)+turn, strings.Repeat(tool+",", 24)+tool),
		"1.5MB-image": request(`{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,`+photo+`"}]}`, tool),
	}
}

func answers() map[string]*genwayv1.GenerateTextResponse {
	n := int64(0)
	talk := func(parts int) *genwayv1.GenerateTextResponse {
		c := &genwayv1.Candidate{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}
		for i := range parts {
			c.Parts = append(c.Parts, textOf("msg_"+strconv.Itoa(i), strings.Repeat("word ", 300)))
		}
		return &genwayv1.GenerateTextResponse{Id: "resp_1", Model: "m", Candidates: []*genwayv1.Candidate{c},
			Usage: &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3, CacheReadInputTokens: &n}}
	}
	drawn := talk(1)
	drawn.Candidates[0].Parts = append(drawn.Candidates[0].Parts, &genwayv1.Part{Id: "ig_1", Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
		MimeType: "image/png", Source: &genwayv1.Media_Data{Data: make([]byte, 1_500_000*3/4)}}}})
	return map[string]*genwayv1.GenerateTextResponse{"2KB": talk(1), "100KB": talk(66), "1.5MB-image": drawn}
}

func each[V any](b *testing.B, cases map[string]V, run func(b *testing.B, v V)) {
	for _, name := range []string{"2KB", "100KB", "1.5MB-image"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, cases[name])
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	each(b, bodies(), func(b *testing.B, body string) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := c.DecodeRequest([]byte(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeRequest(b *testing.B) {
	each(b, bodies(), func(b *testing.B, body string) {
		req, err := c.DecodeRequest([]byte(body))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := c.EncodeRequest(req, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeResponse(b *testing.B) {
	each(b, answers(), func(b *testing.B, resp *genwayv1.GenerateTextResponse) {
		body, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := c.DecodeResponse(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeResponse(b *testing.B) {
	each(b, answers(), func(b *testing.B, resp *genwayv1.GenerateTextResponse) {
		for b.Loop() {
			if _, err := c.EncodeResponse(resp, codec.Answer{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// story is a stream of 1,000 words, in an item of that identifier.
func story(id string) []*genwayv1.StreamGenerateTextResponse {
	resp := answers()["2KB"]
	resp.Candidates[0].Parts = []*genwayv1.Part{textOf(id, strings.Repeat("word ", 1000))}
	return codec.Events(resp, func(text string) []string { return strings.SplitAfter(text, " ") })
}

func perEvent(b *testing.B, events int) {
	b.ReportAllocs()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// Upstreams of other protocols give an item no identifier.
func BenchmarkStreamEncode(b *testing.B) {
	for name, id := range map[string]string{"own": "msg_1", "synthetic": ""} {
		b.Run(name, func(b *testing.B) {
			events := story(id)
			for b.Loop() {
				e := c.NewStreamEncoder(codec.Answer{})
				for _, ev := range events {
					if _, err := e.Encode(ev); err != nil {
						b.Fatal(err)
					}
				}
			}
			perEvent(b, len(events))
		})
	}
}

func BenchmarkStreamDecode(b *testing.B) {
	frames := codectest.EncodeStream(b, c, story("msg_1"), codec.Answer{})
	for b.Loop() {
		d := c.NewStreamDecoder()
		for _, f := range frames {
			if _, err := d.Decode(f); err != nil {
				b.Fatal(err)
			}
		}
	}
	perEvent(b, len(frames))
}

func BenchmarkHead(b *testing.B) {
	codectest.BenchHeads(b, c,
		`{"model":"gpt-x","instructions":"Be brief.","input":"%s","max_output_tokens":512,"temperature":0.7,"stream":true,"store":false,"reasoning":{"effort":"low"}}`,
		`{"id":"resp_1","object":"response","created_at":1700000000,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":"Be brief.","max_output_tokens":512,"max_tool_calls":null,"model":"gpt-x",`+
			`"output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"%s"}]}],"parallel_tool_calls":true,"previous_response_id":null,`+
			`"reasoning":{"effort":"low","summary":null},"safety_identifier":null,"service_tier":"default","store":false,"temperature":0.7,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled",`+
			`"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":30},"user":null,"metadata":{}}`)
}
