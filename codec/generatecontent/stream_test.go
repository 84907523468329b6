package generatecontent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

func frames(lines ...string) []codec.Frame {
	var out []codec.Frame
	for _, line := range lines {
		out = append(out, codec.Frame{Data: []byte(line)})
	}
	return out
}

// TestStreamEqualsUnary demands that a stream folds to what the same answer in one
// body is.
func TestStreamEqualsUnary(t *testing.T) {
	const end = `"finishReason":"STOP","index":0`
	const cited = `,"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":5,"uri":"https://a.example"}]}`
	const tail = `],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":6},"modelVersion":"m","responseId":"r"}`
	for _, c2 := range []struct {
		name, unary string
		stream      []string
	}{
		{"call behind text",
			`{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"Hello.","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},` + end + cited + `}` + tail,
			[]string{
				`{"candidates":[{"content":{"parts":[{"text":"H","thought":true}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"text":"m.","thought":true},{"text":"Hel"}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"text":"lo."}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},` + end + cited + `}` + tail,
			}},
		{"cited text",
			`{"candidates":[{"content":{"parts":[{"text":"Grüße.","thoughtSignature":"c2ln"}],"role":"model"},` + end + cited + `}` + tail,
			[]string{
				`{"candidates":[{"content":{"parts":[{"text":"Grü"}],"role":"model"},"index":0}` + tail,
				`{"candidates":[{"content":{"parts":[{"text":"ße.","thoughtSignature":"c2ln"}],"role":"model"},` + end + cited + `}` + tail,
			}},
	} {
		t.Run(c2.name, func(t *testing.T) {
			want, err := c.DecodeResponse([]byte(c2.unary))
			if err != nil {
				t.Fatal(err)
			}
			got, err := codectest.DecodeStream(c, frames(c2.stream...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-unary +stream):\n%s", diff)
			}
		})
	}
}

// TestCutStream: the end of the bytes is not the end of the answer (case S5).
func TestCutStream(t *testing.T) {
	for name, lines := range map[string][]string{
		"nothing":          nil,
		"no finish reason": {`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`},
		"one of two":       {`{"candidates":[{"index":0,"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"a"}]}}]}`},
		"usage alone":      {`{"usageMetadata":{"promptTokenCount":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codectest.DecodeStream(c, frames(lines...))
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.BadUpstream || e.Reason != fault.ReasonStreamCut {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAfterTheEnd: nothing comes after a failure or after Close.
func TestAfterTheEnd(t *testing.T) {
	d := c.NewStreamDecoder()
	if _, err := d.Decode(codec.Frame{Data: []byte(`{"error":{"code":500,"message":"x"}}`)}); err == nil {
		t.Fatal("no error")
	}
	events, err := d.Decode(codec.Frame{Data: []byte(`{"candidates":[{"finishReason":"STOP"}]}`)})
	if events != nil || err != nil {
		t.Errorf("%v, %v", events, err)
	}
	if events, err = d.Close(); events != nil || err != nil {
		t.Errorf("%v, %v", events, err)
	}
}

// TestStreamFailure: the error is the last frame's data, on one line, and no
// finish reason goes with it (case S4).
func TestStreamFailure(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	got := e.Fail(fault.New(fault.Unavailable, "", "gone"))
	if len(got) != 1 || got[0].Event != "" || string(got[0].Data) != `{"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}` {
		t.Errorf("%s", codectest.Frames(got))
	}
	wire := &genwayv1.WireMessage{Protocol: own, Json: []byte("{\n  \"error\": {\"code\": 429}\n}")}
	got = e.Fail(&fault.Error{Kind: fault.RateLimited, Wire: wire})
	if string(got[0].Data) != `{"error":{"code":429}}` {
		t.Errorf("%s", got[0].Data)
	}
	wire.Json = []byte("no\nJSON")
	if got = e.Fail(&fault.Error{Kind: fault.RateLimited, Message: "slow", Wire: wire}); strings.Contains(string(got[0].Data), "\n") {
		t.Errorf("%s", got[0].Data)
	}
}

// TestWireFrames: the upstream's own frames go through, and the completed event
// adds nothing to them.
func TestWireFrames(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	got, err := e.Encode(codec.Event(&genwayv1.WireFrame{Protocol: own, Data: []byte(`{"x": 1}`)}))
	if err != nil || codectest.Frames(got) != "data: {\"x\": 1}\n\n" {
		t.Errorf("%s, %v", codectest.Frames(got), err)
	}
	for _, ev := range []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.TextCompleted{}), codec.Event(&genwayv1.Ping{})} {
		if got, err = e.Encode(ev); got != nil || err != nil {
			t.Errorf("%s, %v", codectest.Frames(got), err)
		}
	}
}
