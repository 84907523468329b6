package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestRequestsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codectest.RoundTripRequest(t, c, &codec.Request{GenerateTextRequest: drawRequest(t)})
	})
}

func TestResponsesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codectest.RoundTripResponse(t, c, drawResponse(t, false), nil)
	})
}

func TestStreamsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resp := drawResponse(t, true)
		codectest.RoundTripStream(t, c, proto.CloneOf(resp), nil, splitter(t))
	})
}

// splitter cuts each text at places drawn beforehand, between characters.
func splitter(t *rapid.T) codec.Splitter {
	size := rapid.IntRange(1, 5).Draw(t, "piece size")
	return func(text string) []string {
		var pieces []string
		for r := []rune(text); len(r) > 0; {
			n := min(size, len(r))
			pieces = append(pieces, string(r[:n]))
			r = r[n:]
		}
		return pieces
	}
}

func TestCountsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := &genwayv1.CountTokensRequest{Request: drawRequest(t)}
		body, err := c.EncodeCountRequest(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.DecodeCountRequest(body)
		if err != nil || !proto.Equal(req, got) {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}
