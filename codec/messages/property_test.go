package messages_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripStream(t, c, drawResponse(t), nil, drawSplit(t)) })
}

func TestStreamsFoldToTheUnaryAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resp := drawResponse(t)
		body, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			t.Fatal(err)
		}
		unary, err := c.DecodeResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := codectest.DecodeStream(c, codectest.EncodeStream(t, c, codec.Events(resp, drawSplit(t)), codec.Answer{}))
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(unary, streamed) {
			t.Fatalf("unary %v\nstreamed %v", unary, streamed)
		}
	})
}

func TestCountsSurviveTheRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t).GenerateTextRequest
		req.MaxOutputTokens, req.Sampling, req.StopSequences, req.ServiceTier, req.User = nil, nil, nil, "", ""
		var fields []*genwayv1.NativeField
		for _, f := range req.NativeFields {
			if f.Name != "metadata" {
				fields = append(fields, f)
			}
		}
		req.NativeFields = fields
		body, err := c.EncodeCountRequest(&genwayv1.CountTokensRequest{Request: req}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.DecodeCountRequest(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if !proto.Equal(req, got.Request) {
			t.Fatalf("%v\nbecame %v", req, got.Request)
		}
	})
}
