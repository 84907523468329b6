package messages_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var c messages.Codec

func TestGoldenRequests(t *testing.T) {
	codectest.Golden(t, "testdata/request/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req, err := c.DecodeRequest([]byte(in["in.json"]))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(t.Name(), "/carriers") { // seals of other vendors go to no upstream of this one
			codectest.RoundTripRequest(t, c, req)
		}
		return map[string]string{"canonical.json": canonical(t, req), "out.json": encodedRequest(t, req, nil)}
	})
}

func TestGoldenResponses(t *testing.T) {
	codectest.Golden(t, "testdata/response/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp, err := c.DecodeResponse([]byte(in["in.json"]))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"canonical.json": canonical(t, resp), "out.json": encodedResponse(t, resp, nil)}
	})
}

func TestGoldenStreams(t *testing.T) {
	codectest.Golden(t, "testdata/stream/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		frames := codectest.ParseFrames(in["in.sse"])
		resp, err := codectest.DecodeStream(c, frames)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"canonical.json": canonical(t, resp), "out.sse": codectest.Frames(reencoded(t, frames))}
	})
}

// Requests of other protocols: the body for an upstream, and the declared losses.
func TestGoldenForeignRequests(t *testing.T) {
	codectest.Golden(t, "testdata/foreign/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req := &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{}}
		parse(t, in["canonical.json"], req.GenerateTextRequest)
		var losses codec.Losses
		out := encodedRequest(t, req, &losses)
		return map[string]string{"out.json": out, "losses.json": lossesJSON(t, &losses)}
	})
}

// Answers of other protocols: what a caller sees, unary and streamed, and what it
// sends back of them.
func TestGoldenForeignAnswers(t *testing.T) {
	codectest.Golden(t, "testdata/answer/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp := &genwayv1.GenerateTextResponse{}
		parse(t, in["canonical.json"], resp)
		var losses codec.Losses
		out := encodedResponse(t, resp, &losses)
		back, err := c.DecodeResponse([]byte(out))
		if err != nil {
			t.Fatal(err)
		}
		frames := codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{})
		return map[string]string{
			"out.json": out, "losses.json": lossesJSON(t, &losses),
			"back.json": canonical(t, back), "out.sse": codectest.Frames(frames),
		}
	})
}

func TestGoldenCounts(t *testing.T) {
	codectest.Golden(t, "testdata/count/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req, err := c.DecodeCountRequest([]byte(in["in.json"]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.EncodeCountRequest(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.DecodeCountResponse([]byte(in["answer.json"]))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.EncodeCountResponse(resp)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"canonical.json": canonical(t, req), "out.json": codectest.Indent(t, body),
			"answer-canonical.json": canonical(t, resp), "answer-out.json": codectest.Indent(t, answer),
		}
	})
}

// canonical spells a message for a golden section.
func canonical(t *testing.T, m proto.Message) string {
	t.Helper()
	return codectest.Indent(t, []byte(codectest.ProtoText(t, m)))
}

func parse(t *testing.T, text string, m proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
}

func encodedRequest(t *testing.T, req *codec.Request, losses *codec.Losses) string {
	t.Helper()
	body, err := c.EncodeRequest(req, losses)
	if err != nil {
		t.Fatal(err)
	}
	return codectest.Indent(t, body)
}

func encodedResponse(t *testing.T, resp *genwayv1.GenerateTextResponse, losses *codec.Losses) string {
	t.Helper()
	body, err := c.EncodeResponse(resp, codec.Answer{Losses: losses})
	if err != nil {
		t.Fatal(err)
	}
	return codectest.Indent(t, body)
}

func lossesJSON(t *testing.T, losses *codec.Losses) string {
	t.Helper()
	return canonical(t, &genwayv1.GenerateTextResponse{Losses: losses.List()})
}

// reencoded returns the frames that the events of frames are encoded as.
func reencoded(t *testing.T, frames []codec.Frame) []codec.Frame {
	t.Helper()
	decoder := c.NewStreamDecoder()
	var events []*genwayv1.StreamGenerateTextResponse
	for _, f := range frames {
		more, err := decoder.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	return codectest.EncodeStream(t, c, events, codec.Answer{})
}
