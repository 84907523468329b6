package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// BenchmarkUnary compares unary answers, decoded and encoded as such, with the same by way of
// the stream decoders and encoders (decision 32). The stream has one frame a part, the fewest
// that its protocol allows; a stream of generateContent is decoded from one frame, the body.
func BenchmarkUnary(b *testing.B) {
	answer := &genwayv1.GenerateTextResponse{
		Id: "answer_1", Model: "m",
		Candidates: []*genwayv1.Candidate{{
			Parts: []*genwayv1.Part{
				codec.TextPart("It will rain in the afternoon, and the wind turns to the north-west."),
				{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_1", Name: "weather", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"city":"Turin","days":3}`}}}},
			},
			StopReason: genwayv1.StopReason_STOP_REASON_TOOL_CALL,
		}},
		Usage: &genwayv1.Usage{InputTokens: 100, OutputTokens: 50, TotalTokens: 150},
	}
	for name, c := range map[string]codec.Codec{"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}, "generatecontent": generatecontent.Codec{}} {
		body, err := c.EncodeResponse(answer, codec.Answer{})
		if err != nil {
			b.Fatal(err)
		}
		frames := framesOf(b, c, answer)
		if name == "generatecontent" {
			frames = []codec.Frame{{Data: body}}
		}
		b.Run(name+"/decode/unary", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.DecodeResponse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/decode/stream", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				foldOf(b, c, frames)
			}
		})
		b.Run(name+"/encode/unary", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.EncodeResponse(answer, codec.Answer{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encode/stream", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				framesOf(b, c, answer)
			}
		})
	}
}

// framesOf encodes the answer as a stream.
func framesOf(b *testing.B, c codec.Codec, answer *genwayv1.GenerateTextResponse) []codec.Frame {
	b.Helper()
	encoder := c.NewStreamEncoder(codec.Answer{})
	var all []codec.Frame
	for _, event := range codec.Events(answer, nil) {
		frames, err := encoder.Encode(event)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range frames {
			all = append(all, codec.Frame{Event: f.Event, Data: append([]byte(nil), f.Data...)})
		}
	}
	return all
}

// foldOf decodes a stream and adds it up.
func foldOf(b *testing.B, c codec.Codec, frames []codec.Frame) {
	b.Helper()
	decoder := c.NewStreamDecoder()
	var folder codec.Accumulator
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) {
		if err != nil {
			b.Fatal(err)
		}
		for _, event := range events {
			if err := folder.Add(event); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, f := range frames {
		add(decoder.Decode(f))
	}
	add(decoder.Close())
	if !folder.Complete() || folder.Response() == nil {
		b.Fatal("the stream is not whole")
	}
}
