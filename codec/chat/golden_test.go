package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// fromJSON reads a canonical section.
func fromJSON(t *testing.T, text string, m proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
}

func lossText(l *codec.Losses) string {
	var b strings.Builder
	for _, loss := range l.List() {
		fmt.Fprintf(&b, "%s: %s\n", loss.Member, loss.Reason)
	}
	return b.String()
}

// TestRequests decodes in.json, and encodes it again to what an upstream gets.
func TestRequests(t *testing.T) {
	codectest.Golden(t, "testdata/request_*.txtar", func(t *testing.T, s map[string]string) map[string]string {
		req, err := c.DecodeRequest([]byte(s["in.json"]))
		if err != nil {
			t.Fatal(err)
		}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"canonical.json": codectest.ProtoText(t, req.GenerateTextRequest),
			"out.json":       codectest.Indent(t, out),
		}
	})
}

// TestForeignRequests encodes canonical requests that came from another protocol,
// to a body and what it could not hold, or to a refusal.
func TestForeignRequests(t *testing.T) {
	codectest.Golden(t, "testdata/foreign_*.txtar", func(t *testing.T, s map[string]string) map[string]string {
		var req genwayv1.GenerateTextRequest
		fromJSON(t, s["canonical.json"], &req)
		var losses codec.Losses
		out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &req}, &losses)
		if err != nil {
			return map[string]string{"error.txt": err.Error()}
		}
		return map[string]string{"out.json": codectest.Indent(t, out), "losses.txt": lossText(&losses)}
	})
}

// TestResponses decodes in.json, an upstream's answer, and encodes it again to
// what a caller gets.
func TestResponses(t *testing.T) {
	codectest.Golden(t, "testdata/response_*.txtar", func(t *testing.T, s map[string]string) map[string]string {
		resp, err := c.DecodeResponse([]byte(s["in.json"]))
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"canonical.json": codectest.ProtoText(t, resp),
			"out.json":       codectest.Indent(t, out),
		}
	})
}

// TestAnswers encodes canonical answers of other protocols, whole and streamed.
func TestAnswers(t *testing.T) {
	codectest.Golden(t, "testdata/answer_*.txtar", func(t *testing.T, s map[string]string) map[string]string {
		var resp genwayv1.GenerateTextResponse
		fromJSON(t, s["canonical.json"], &resp)
		var losses codec.Losses
		to := codec.Answer{Losses: &losses, Request: &codec.Request{IncludeUsage: true}}
		if s["request.json"] != "" {
			req, err := c.DecodeRequest([]byte(s["request.json"]))
			if err != nil {
				t.Fatal(err)
			}
			to.Request = req
		}
		out, err := c.EncodeResponse(&resp, to)
		if err != nil {
			t.Fatal(err)
		}
		frames := codectest.EncodeStream(t, c, codec.Events(&resp, nil), to)
		return map[string]string{
			"out.json":   codectest.Indent(t, out),
			"out.sse":    codectest.Frames(frames),
			"losses.txt": lossText(&losses),
		}
	})
}

// TestStreams decodes an upstream's stream to what it folds to, or to its error.
func TestStreams(t *testing.T) {
	codectest.Golden(t, "testdata/stream_*.txtar", func(t *testing.T, s map[string]string) map[string]string {
		resp, err := codectest.DecodeStream(c, codectest.ParseFrames(s["in.sse"]))
		if err != nil {
			return map[string]string{"error.txt": err.Error()}
		}
		return map[string]string{"canonical.json": codectest.ProtoText(t, resp)}
	})
}
