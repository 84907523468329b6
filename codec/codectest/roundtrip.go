package codectest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// TB is what a round trip needs of a test: *testing.T, *testing.B or *rapid.T.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ TB = (*testing.T)(nil)

// indent keeps the numbers and the order of members, unlike a decode and encode.
func indent(out *bytes.Buffer, raw []byte) error { return json.Indent(out, raw, "", "  ") }

// RoundTripRequest demands that decode∘encode returns the same request.
func RoundTripRequest(t TB, c codec.Codec, req *codec.Request) {
	t.Helper()
	var losses codec.Losses
	body, err := c.EncodeRequest(req, &losses)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	if l := losses.List(); len(l) > 0 {
		t.Fatalf("lost %v in %s", l, body)
	}
	got, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatalf("decode: %v\n%s", err, body)
	}
	same(t, req.GenerateTextRequest, got.GenerateTextRequest, body)
	if req.Stream != got.Stream || req.IncludeUsage != got.IncludeUsage {
		t.Fatalf("stream %v usage %v became %v %v", req.Stream, req.IncludeUsage, got.Stream, got.IncludeUsage)
	}
}

// RoundTripResponse demands that decode∘encode returns the same answer.
func RoundTripResponse(t TB, c codec.Codec, resp *genwayv1.GenerateTextResponse, req *codec.Request) {
	t.Helper()
	var losses codec.Losses
	body, err := c.EncodeResponse(resp, codec.Answer{Request: req, Losses: &losses})
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	if l := losses.List(); len(l) > 0 {
		t.Fatalf("lost %v in %s", l, body)
	}
	got, err := c.DecodeResponse(body)
	if err != nil {
		t.Fatalf("decode: %v\n%s", err, body)
	}
	same(t, resp, got, body)
}

// RoundTripStream streams the answer in pieces, encodes and decodes the events,
// and demands that they fold to the answer again.
func RoundTripStream(t TB, c codec.Codec, resp *genwayv1.GenerateTextResponse, req *codec.Request, split codec.Splitter) {
	t.Helper()
	frames := EncodeStream(t, c, codec.Events(resp, split), codec.Answer{Request: req})
	got, err := DecodeStream(c, frames)
	if err != nil {
		t.Fatalf("decode: %v\n%s", err, Frames(frames))
	}
	same(t, resp, got, []byte(Frames(frames)))
}

// EncodeStream returns the frames of a stream of events.
func EncodeStream(t TB, c codec.Codec, events []*genwayv1.StreamGenerateTextResponse, to codec.Answer) []codec.Frame {
	t.Helper()
	encoder := c.NewStreamEncoder(to)
	var frames []codec.Frame
	for _, ev := range events {
		fs, err := encoder.Encode(ev)
		if err != nil {
			t.Fatalf("encode %v: %v", ev, err)
		}
		for _, f := range fs {
			frames = append(frames, codec.Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
		}
	}
	return frames
}

// DecodeStream folds the events of a stream of frames.
func DecodeStream(c codec.Codec, frames []codec.Frame) (*genwayv1.GenerateTextResponse, error) {
	decoder := c.NewStreamDecoder()
	var folder codec.Accumulator
	add := func(events []*genwayv1.StreamGenerateTextResponse) error {
		for _, ev := range events {
			if err := folder.Add(proto.CloneOf(ev)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range frames {
		events, err := decoder.Decode(f)
		if err := errors.Join(add(events), err); err != nil {
			return nil, err
		}
	}
	events, err := decoder.Close()
	if err := errors.Join(add(events), err); err != nil {
		return nil, err
	}
	if !folder.Complete() {
		return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "no completed event")
	}
	return folder.Response(), nil
}

// Frames spells frames as an SSE body, for golden sections and failures.
func Frames(frames []codec.Frame) string {
	var b bytes.Buffer
	for _, f := range frames {
		if f.Event != "" {
			b.WriteString("event: " + f.Event + "\n")
		}
		b.WriteString("data: ")
		b.Write(f.Data)
		b.WriteString("\n\n")
	}
	return b.String()
}

// ParseFrames reads what Frames wrote.
func ParseFrames(text string) []codec.Frame {
	var frames []codec.Frame
	for block := range bytes.SplitSeq([]byte(text), []byte("\n\n")) {
		var f codec.Frame
		for line := range bytes.SplitSeq(block, []byte("\n")) {
			if v, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
				f.Event = string(v)
			} else if v, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				f.Data = v
			}
		}
		if f.Data != nil {
			frames = append(frames, f)
		}
	}
	return frames
}

func same(t TB, want, got proto.Message, body []byte) {
	t.Helper()
	if proto.Equal(want, got) {
		return
	}
	t.Fatalf("(-want +got):\n%s\n%s", cmp.Diff(want, got, protocmp.Transform()), body)
}
