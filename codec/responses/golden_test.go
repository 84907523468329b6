package responses_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var c responses.Codec

func fromText(t *testing.T, text string, m proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
}

func lossText(losses *codec.Losses) string {
	var lines []string
	for _, l := range losses.List() {
		lines = append(lines, l.Member+": "+l.Reason+"\n")
	}
	slices.Sort(lines) // a stream learns of some in another order
	return strings.Join(lines, "")
}

func failText(err error) string {
	f := fault.From(err)
	return f.Kind.String() + " " + f.Reason + " " + f.Param + ": " + f.Message
}

// A request of this protocol: what it means, and how it is written again.
func TestRequestGoldens(t *testing.T) {
	codectest.Golden(t, "testdata/request/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req, err := c.DecodeRequest([]byte(in["in.json"]))
		if err != nil {
			return map[string]string{"fault": failText(err)}
		}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]string{"canonical.json": codectest.ProtoText(t, req.GenerateTextRequest), "out.json": codectest.Indent(t, out)}
		if _, lossy := in["losses"]; lossy {
			made["losses"] = lossText(&losses)
			return made
		}
		again, err := c.DecodeRequest(out)
		if err != nil || !proto.Equal(req.GenerateTextRequest, again.GenerateTextRequest) || req.Stream != again.Stream {
			t.Errorf("written again it means something else (%v): %s", err, out)
		}
		if l := lossText(&losses); l != "" {
			t.Errorf("lost in its own protocol: %s", l)
		}
		return made
	})
}

// A canonical request of another protocol, as an upstream of this one gets it.
func TestUpstreamGoldens(t *testing.T) {
	codectest.Golden(t, "testdata/upstream/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req := &genwayv1.GenerateTextRequest{}
		fromText(t, in["in.json"], req)
		var losses codec.Losses
		out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, &losses)
		if err != nil {
			return map[string]string{"fault": failText(err)}
		}
		made := map[string]string{"out.json": codectest.Indent(t, out), "losses": lossText(&losses)}
		count, err := c.EncodeCountRequest(&genwayv1.CountTokensRequest{Request: req}, nil)
		if err != nil {
			t.Fatal(err)
		}
		made["count.json"] = codectest.Indent(t, count)
		return made
	})
}

// An answer of this protocol.
func TestResponseGoldens(t *testing.T) {
	codectest.Golden(t, "testdata/response/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp, err := c.DecodeResponse([]byte(in["in.json"]))
		if err != nil {
			return map[string]string{"fault": failText(err)}
		}
		return map[string]string{"canonical.json": codectest.ProtoText(t, resp), "out.json": encodeAnswer(t, resp, in["request.json"], nil)}
	})
}

func encodeAnswer(t *testing.T, resp *genwayv1.GenerateTextResponse, request string, losses *codec.Losses) string {
	t.Helper()
	out, err := c.EncodeResponse(resp, codec.Answer{Request: asked(t, request), Losses: losses})
	if err != nil {
		t.Fatal(err)
	}
	return codectest.Indent(t, out)
}

func asked(t *testing.T, request string) *codec.Request {
	t.Helper()
	if request == "" {
		return nil
	}
	req, err := c.DecodeRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// A canonical answer of another protocol, as a caller of this one gets it, whole
// and in pieces.
func TestAnswerGoldens(t *testing.T) {
	codectest.Golden(t, "testdata/answer/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp := &genwayv1.GenerateTextResponse{}
		fromText(t, in["in.json"], resp)
		var losses, streamed codec.Losses
		made := map[string]string{"out.json": encodeAnswer(t, resp, in["request.json"], &losses)}
		frames := codectest.EncodeStream(t, c, codec.Events(resp, func(text string) []string {
			if len(text) < 4 {
				return []string{text}
			}
			return []string{text[:3], text[3:]}
		}), codec.Answer{Request: asked(t, in["request.json"]), Losses: &streamed})
		made["out.sse"] = codectest.Frames(frames)
		made["losses"] = lossText(&losses)
		if s := lossText(&streamed); s != made["losses"] {
			t.Errorf("the stream lost %s", s)
		}
		return made
	})
}

// A stream of this protocol: what it amounts to, and how it is written again.
func TestStreamGoldens(t *testing.T) {
	codectest.Golden(t, "testdata/stream/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp, err := codectest.DecodeStream(c, codectest.ParseFrames(in["in.sse"]))
		if err != nil {
			return map[string]string{"fault": failText(err)}
		}
		frames := codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{})
		return map[string]string{"canonical.json": codectest.ProtoText(t, resp), "out.sse": codectest.Frames(frames)}
	})
}
