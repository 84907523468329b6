package generatecontent_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// sizes are bodies of a short chat, of a long one and of one with an image.
func sizes() map[string]*genwayv1.GenerateTextRequest {
	long := strings.Repeat("All work and no play makes a dull gateway. ", 20)
	turns := func(n int) []*genwayv1.Message {
		var out []*genwayv1.Message
		for i := range n {
			role := genwayv1.Role_ROLE_USER
			if i%2 == 1 {
				role = genwayv1.Role_ROLE_ASSISTANT
			}
			out = append(out, &genwayv1.Message{Role: role, Parts: []*genwayv1.Part{textPart(long)}})
		}
		return out
	}
	image := &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png",
		Source: &genwayv1.Media_Data{Data: []byte(strings.Repeat("\x89pixel\xff", 1_500_000/7))}}}}
	return map[string]*genwayv1.GenerateTextRequest{
		"2KB":         {Messages: turns(2)},
		"100KB":       {Messages: turns(113)},
		"1.5MB-image": {Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{image, textPart("What is it?")}}}},
	}
}

func answers() map[string]*genwayv1.GenerateTextResponse {
	out := map[string]*genwayv1.GenerateTextResponse{}
	for name, req := range sizes() {
		candidate := &genwayv1.Candidate{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, NativeStopReason: "STOP"}
		for _, m := range req.Messages {
			candidate.Parts = append(candidate.Parts, m.Parts...)
		}
		out[name] = &genwayv1.GenerateTextResponse{Id: "r", Model: "m", Candidates: []*genwayv1.Candidate{candidate}, Usage: &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}}
	}
	return out
}

func BenchmarkEncodeRequest(b *testing.B) {
	for name, req := range sizes() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	for name, req := range sizes() {
		body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := c.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeResponse(b *testing.B) {
	for name, resp := range answers() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, err := c.EncodeResponse(resp, codec.Answer{})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}

func BenchmarkDecodeResponse(b *testing.B) {
	for name, resp := range answers() {
		body, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := c.DecodeResponse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStreamEncode and BenchmarkStreamDecode measure one event: a word.
func BenchmarkStreamEncode(b *testing.B) {
	e := c.NewStreamEncoder(codec.Answer{})
	for _, ev := range []*genwayv1.StreamGenerateTextResponse{
		codec.Event(&genwayv1.TextStarted{Id: "r", Model: "m"}), codec.Event(&genwayv1.PartStarted{Part: textPart("")}),
	} {
		if _, err := e.Encode(ev); err != nil {
			b.Fatal(err)
		}
	}
	delta := codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "word "}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Encode(delta); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamDecode(b *testing.B) {
	d := c.NewStreamDecoder()
	frame := codec.Frame{Data: []byte(`{"candidates":[{"content":{"parts":[{"text":"word "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":17,"candidatesTokenCount":41,"totalTokenCount":572,"promptTokensDetails":[{"modality":"TEXT","tokenCount":17}]},"modelVersion":"gemini-2.5-pro","responseId":"ftnJaMmAMcm"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	codectest.BenchHeads(b, c,
		`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"%s"}]}],"generationConfig":{"temperature":0.7,"maxOutputTokens":512}}`,
		`{"candidates":[{"content":{"parts":[{"text":"%s"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":20,"totalTokenCount":30,"promptTokensDetails":[{"modality":"TEXT","tokenCount":10}]},"modelVersion":"gemini-x","responseId":"r"}`)
}
