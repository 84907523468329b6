package generatecontent_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
)

var c = generatecontent.Codec{}

// outcome spells an error for a golden section.
func outcome(err error) map[string]string {
	e := fault.From(err)
	return map[string]string{"error.txt": strings.Join([]string{
		"kind: " + e.Kind.String(), "reason: " + e.Reason, "param: " + e.Param, "message: " + e.Message}, "\n")}
}

func lossText(l *codec.Losses) string {
	var lines []string
	for _, loss := range l.List() {
		lines = append(lines, loss.Member+": "+loss.Reason)
	}
	return strings.Join(lines, "\n")
}

func TestGoldenRequests(t *testing.T) {
	codectest.Golden(t, "testdata/request-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req, err := c.DecodeRequest([]byte(in["in.json"]))
		if err != nil {
			return outcome(err)
		}
		made := map[string]string{"canonical.json": codectest.ProtoText(t, req.GenerateTextRequest)}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			t.Fatal(err)
		}
		if len(losses.List()) > 0 {
			t.Errorf("lost %v", losses.List())
		}
		made["out.json"] = codectest.Indent(t, out)
		return made
	})
}

// TestGoldenForeign encodes requests that came from other protocols.
func TestGoldenForeign(t *testing.T) {
	codectest.Golden(t, "testdata/foreign-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req := &codec.Request{GenerateTextRequest: parseRequest(t, in["canonical.json"])}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			return outcome(err)
		}
		return map[string]string{"out.json": codectest.Indent(t, out), "losses.txt": lossText(&losses)}
	})
}

func TestGoldenResponses(t *testing.T) {
	codectest.Golden(t, "testdata/response-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp, err := c.DecodeResponse([]byte(in["in.json"]))
		if err != nil {
			return outcome(err)
		}
		out, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"canonical.json": codectest.ProtoText(t, resp), "out.json": codectest.Indent(t, out)}
	})
}

// TestGoldenAnswers encodes answers of other protocols' upstreams, streamed and
// not.
func TestGoldenAnswers(t *testing.T) {
	codectest.Golden(t, "testdata/answer-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp := parseResponse(t, in["canonical.json"])
		var losses codec.Losses
		out, err := c.EncodeResponse(resp, codec.Answer{Losses: &losses})
		if err != nil {
			return outcome(err)
		}
		frames := codectest.EncodeStream(t, c, codec.Events(resp, halves), codec.Answer{})
		return map[string]string{
			"out.json": codectest.Indent(t, out), "losses.txt": lossText(&losses), "stream.txt": codectest.Frames(frames)}
	})
}

func TestGoldenStreams(t *testing.T) {
	codectest.Golden(t, "testdata/stream-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		frames := codectest.ParseFrames(in["in.txt"])
		resp, err := codectest.DecodeStream(c, frames)
		if err != nil {
			return outcome(err)
		}
		out := codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{})
		return map[string]string{"canonical.json": codectest.ProtoText(t, resp), "out.txt": codectest.Frames(out)}
	})
}

func TestGoldenErrors(t *testing.T) {
	codectest.Golden(t, "testdata/error-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		status, err := strconv.Atoi(strings.TrimSpace(in["status.txt"]))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"detail.json": codectest.ProtoText(t, c.DecodeError(status, []byte(in["in.json"])).Detail())}
	})
}

func TestGoldenCounts(t *testing.T) {
	codectest.Golden(t, "testdata/count-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		made := map[string]string{}
		if body, ok := in["in.json"]; ok {
			req, err := c.DecodeCountRequest([]byte(body))
			if err != nil {
				return outcome(err)
			}
			made["canonical.json"] = codectest.ProtoText(t, req)
			out, err := c.EncodeCountRequest(req, nil)
			if err != nil {
				t.Fatal(err)
			}
			made["out.json"] = codectest.Indent(t, out)
		}
		if body, ok := in["answer.json"]; ok {
			resp, err := c.DecodeCountResponse([]byte(body))
			if err != nil {
				return outcome(err)
			}
			made["count.json"] = codectest.ProtoText(t, resp)
			out, err := c.EncodeCountResponse(resp)
			if err != nil {
				t.Fatal(err)
			}
			made["answer-out.json"] = codectest.Indent(t, out)
		}
		return made
	})
}
