package chat_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestRequestsSurviveTheRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripRequest(t, c, drawRequest(t)) })
}

func TestResponsesSurviveTheRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripResponse(t, c, drawResponse(t), nil) })
}

func TestStreamsSurviveTheRoundTrip(t *testing.T) {
	usage := &codec.Request{IncludeUsage: true}
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripStream(t, c, drawResponse(t), usage, drawSplit(t)) })
}

func TestStreamsFoldToTheUnaryAnswer(t *testing.T) {
	to := codec.Answer{Request: &codec.Request{IncludeUsage: true}}
	rapid.Check(t, func(t *rapid.T) {
		resp := drawResponse(t)
		body, err := c.EncodeResponse(resp, to)
		if err != nil {
			t.Fatal(err)
		}
		unary, err := c.DecodeResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := codectest.DecodeStream(c, codectest.EncodeStream(t, c, codec.Events(resp, drawSplit(t)), to))
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(unary, streamed) {
			t.Fatalf("unary %v\nstreamed %v", unary, streamed)
		}
	})
}
