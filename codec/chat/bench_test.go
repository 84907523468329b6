package chat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// bodies are requests of the sizes that matter: a question, an agent's long
// conversation with tools, and one picture.
func bodies() map[string][]byte {
	turn := `{"role":"user","content":"` + strings.Repeat("What is the weather like? ", 12) + `"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":"` + strings.Repeat("sunny ", 40) + `"}`
	tools := `"tools":[{"type":"function","function":{"name":"get_weather","description":"Gives the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	request := func(turns int) []byte {
		list := make([]string, turns)
		for i := range list {
			list[i] = turn
		}
		return []byte(`{"model":"m","temperature":0.5,"stream":true,` + tools + `,"messages":[` + strings.Join(list, ",") + `]}`)
	}
	image := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("QUJD", 1536*1024/4) + `"}}]}]}`
	return map[string][]byte{"2KB": request(2), "100KB": request(125), "1.5MB-image": []byte(image)}
}

func eachBody(b *testing.B, run func(b *testing.B, body []byte)) {
	all := bodies()
	for _, name := range []string{"2KB", "100KB", "1.5MB-image"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(all[name])))
			b.ReportAllocs()
			run(b, all[name])
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	eachBody(b, func(b *testing.B, body []byte) {
		for b.Loop() {
			if _, err := c.DecodeRequest(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeRequest(b *testing.B) {
	eachBody(b, func(b *testing.B, body []byte) {
		req, err := c.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := c.EncodeRequest(req, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHead(b *testing.B) {
	codectest.BenchHeads(b, c,
		`{"model":"gpt-x","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"%s"}],"max_tokens":512,"temperature":0.7,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"%s","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_1"}`)
}

// BenchmarkHeadOfTalk is the edge's part in an agent's long conversation.
func BenchmarkHeadOfTalk(b *testing.B) {
	body := bodies()["100KB"]
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.DecodeRequestHead(body); !ok {
			b.Fatal("no head")
		}
	}
}

// answers are answers of the same sizes; the picture is one the model made.
func answers() map[string]*genwayv1.GenerateTextResponse {
	image := answerOf(text("here"), &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
		MimeType: "image/png", Source: &genwayv1.Media_Data{Data: bytes.Repeat([]byte("ABC"), 1536*1024/4)}}}})
	return map[string]*genwayv1.GenerateTextResponse{
		"2KB":         answerOf(text(strings.Repeat("All is well. ", 130))),
		"100KB":       answerOf(text(strings.Repeat("All is well. ", 7800))),
		"1.5MB-image": image,
	}
}

func eachAnswer(b *testing.B, run func(b *testing.B, resp *genwayv1.GenerateTextResponse, body []byte)) {
	all := answers()
	for _, name := range []string{"2KB", "100KB", "1.5MB-image"} {
		b.Run(name, func(b *testing.B) {
			body, err := c.EncodeResponse(all[name], codec.Answer{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			run(b, all[name], body)
		})
	}
}

func BenchmarkDecodeResponse(b *testing.B) {
	eachAnswer(b, func(b *testing.B, _ *genwayv1.GenerateTextResponse, body []byte) {
		for b.Loop() {
			if _, err := c.DecodeResponse(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeResponse(b *testing.B) {
	eachAnswer(b, func(b *testing.B, resp *genwayv1.GenerateTextResponse, _ []byte) {
		for b.Loop() {
			if _, err := c.EncodeResponse(resp, codec.Answer{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStreamEncode and BenchmarkStreamDecode measure the cost of one event.
func BenchmarkStreamEncode(b *testing.B) {
	e := c.NewStreamEncoder(codec.Answer{})
	events := codec.Events(answerOf(text("hello")), nil)
	for _, ev := range events[:2] {
		if _, err := e.Encode(ev); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Encode(events[2]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamDecode(b *testing.B) {
	d := c.NewStreamDecoder()
	frame := codec.Frame{Data: fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBenchmarkBodies(t *testing.T) {
	for name, body := range bodies() {
		req, err := c.DecodeRequest(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		codectest.RoundTripRequest(t, c, req)
	}
}
