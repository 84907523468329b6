package messages_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Bodies of the three sizes that matter: a plain question, an agent's turn with
// its tools, and an image.
func requestBodies() map[string][]byte {
	bodies := map[string][]byte{
		"2KB": fmt.Appendf(nil, `{"model":"m","max_tokens":1024,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":%q}]}]}`, strings.Repeat("some words ", 170)),
		"1.5MB-image": fmt.Appendf(nil, `{"model":"m","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}`,
			base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x89PNG\r\n"), 1_500_000/6))),
	}
	var b bytes.Buffer
	b.WriteString(`{"model":"m","max_tokens":32000,"tools":[`)
	for i := range 24 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":%q,"input_schema":{"type":"object","properties":{"path":{"type":"string","description":%q}},"required":["path"]}}`,
			i, strings.Repeat("what it does ", 90), strings.Repeat("a path ", 80))
	}
	b.WriteString(`],"messages":[`)
	for i := range 40 {
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":[{"type":"text","text":%q}]}]},`, i, strings.Repeat("result ", 100))
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"text","text":"Next."},{"type":"tool_use","id":"toolu_%d","name":"tool_1","input":{"path":"/tmp/x"}}]},`, i+1)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	bodies["100KB"] = b.Bytes()
	return bodies
}

func responseBodies() map[string][]byte {
	bodies := map[string][]byte{}
	for name, size := range map[string]int{"2KB": 2_000, "100KB": 100_000, "1.5MB-image": 1_500_000} {
		bodies[name] = fmt.Appendf(nil, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q,"citations":[]}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}`,
			strings.Repeat("some words ", size/11))
	}
	return bodies
}

func BenchmarkDecodeRequest(b *testing.B) {
	for name, body := range requestBodies() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeRequest(b *testing.B) {
	for name, body := range requestBodies() {
		req, err := c.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.EncodeRequest(req, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeResponse(b *testing.B) {
	for name, body := range responseBodies() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.DecodeResponse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeResponse(b *testing.B) {
	for name, body := range responseBodies() {
		resp, err := c.DecodeResponse(body)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.EncodeResponse(resp, codec.Answer{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// streamEvents are those of an answer of a thousand pieces of text.
func streamEvents() []*genwayv1.StreamGenerateTextResponse {
	resp := answer(text(strings.Repeat("word ", 1000)))
	return codec.Events(resp, func(text string) []string { return strings.SplitAfter(strings.TrimSpace(text), " ") })
}

func BenchmarkStreamEncode(b *testing.B) {
	events := streamEvents()
	b.ReportAllocs()
	encoder, at := c.NewStreamEncoder(codec.Answer{}), 0
	for b.Loop() {
		if at == len(events) {
			encoder, at = c.NewStreamEncoder(codec.Answer{}), 0
		}
		if _, err := encoder.Encode(events[at]); err != nil {
			b.Fatal(err)
		}
		at++
	}
}

func BenchmarkStreamDecode(b *testing.B) {
	frames := codectest.EncodeStream(b, c, streamEvents(), codec.Answer{})
	b.ReportAllocs()
	decoder, at := c.NewStreamDecoder(), 0
	for b.Loop() {
		if at == len(frames) {
			decoder, at = c.NewStreamDecoder(), 0
		}
		if _, err := decoder.Decode(frames[at]); err != nil {
			b.Fatal(err)
		}
		at++
	}
}

func BenchmarkHead(b *testing.B) {
	codectest.BenchHeads(b, c,
		`{"model":"claude-x","max_tokens":512,"system":"Be brief.","messages":[{"role":"user","content":"%s"}],"temperature":0.7,"stream":true,"metadata":{"user_id":"u"}}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","stop_sequence":null,`+
			`"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":20,"service_tier":"standard"}}`)
}
