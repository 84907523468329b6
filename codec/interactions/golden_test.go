package interactions_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/interactions"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

var c = interactions.Codec{}

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

// halves streams each text in two pieces.
func halves(text string) []string {
	r := []rune(text)
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}

func TestGoldenRequests(t *testing.T) {
	codectest.Golden(t, "testdata/request-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req, err := c.DecodeRequest([]byte(in["in.json"]))
		if err != nil {
			return outcome(err)
		}
		made := map[string]string{"canonical.json": codectest.ProtoText(t, req.GenerateTextRequest), "stream.txt": strconv.FormatBool(req.Stream)}
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

// TestGoldenRefused reads requests that are not served, a body in each line.
func TestGoldenRefused(t *testing.T) {
	codectest.Golden(t, "testdata/refused.txtar", func(t *testing.T, in map[string]string) map[string]string {
		var lines []string
		for body := range strings.SplitSeq(in["in.txt"], "\n") {
			_, err := c.DecodeRequest([]byte(body))
			if err == nil {
				t.Errorf("%s is taken", body)
				continue
			}
			e := fault.From(err)
			lines = append(lines, e.Kind.String()+" "+e.Param+": "+e.Message)
		}
		return map[string]string{"errors.txt": strings.Join(lines, "\n")}
	})
}

// TestGoldenForeign encodes requests that came from other protocols.
func TestGoldenForeign(t *testing.T) {
	codectest.Golden(t, "testdata/foreign-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		req := &genwayv1.GenerateTextRequest{}
		if err := protojson.Unmarshal([]byte(in["canonical.json"]), req); err != nil {
			t.Fatal(err)
		}
		var losses codec.Losses
		out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, &losses)
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

// TestGoldenAnswers encodes answers of other protocols' upstreams, streamed and not.
func TestGoldenAnswers(t *testing.T) {
	codectest.Golden(t, "testdata/answer-*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		resp := &genwayv1.GenerateTextResponse{}
		if err := protojson.Unmarshal([]byte(in["canonical.json"]), resp); err != nil {
			t.Fatal(err)
		}
		var losses, streamed codec.Losses
		out, err := c.EncodeResponse(resp, codec.Answer{Losses: &losses})
		if err != nil {
			return outcome(err)
		}
		frames := codectest.EncodeStream(t, c, codec.Events(resp, halves), codec.Answer{Losses: &streamed})
		return map[string]string{
			"out.json": codectest.Indent(t, out), "losses.txt": lossText(&losses), "stream.txt": codectest.Frames(frames), "stream-losses.txt": lossText(&streamed)}
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
		e := c.DecodeError(status, []byte(in["in.json"]))
		return map[string]string{
			"detail.json": codectest.ProtoText(t, e.Detail()),
			"frames.txt":  codectest.Frames(c.NewStreamEncoder(codec.Answer{}).Fail(e)),
		}
	})
}
