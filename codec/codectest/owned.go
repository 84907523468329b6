package codectest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// Owned demands that nothing that was decoded is a part of the body, which may be used
// again: neither of the golden cases, nor of what becomes of them.
func Owned(t *testing.T, c codec.Codec) {
	t.Helper()
	all := objects(t)
	for _, body := range all {
		owned(t, c, body)
	}
	for _, section := range sections(t) {
		if frames := ParseFrames(string(section)); len(frames) > 1 {
			ownedStream(t, c, frames)
		}
	}
	rapid.Check(t, func(t *rapid.T) { owned(t, c, Spoiled(t, rapid.SampledFrom(all).Draw(t, "object"))) })
}

func owned(t TB, c codec.Codec, original []byte) {
	t.Helper()
	body := bytes.Clone(original)
	var made []proto.Message
	if req, err := c.DecodeRequest(body); err == nil {
		made = append(made, req.GenerateTextRequest)
	}
	if resp, err := c.DecodeResponse(body); err == nil {
		made = append(made, resp)
	}
	if events, err := c.NewStreamDecoder().Decode(codec.Frame{Data: body}); err == nil {
		for _, ev := range events {
			made = append(made, ev)
		}
	}
	want := spelled(t, made)
	scribble(body)
	if got := spelled(t, made); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("a part of %q is in\n%v", original, made)
	}
}

// spelled returns the bytes of messages; a clone would not distinguish -0 from 0.
func spelled(t TB, messages []proto.Message) [][]byte {
	t.Helper()
	out := make([][]byte, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil {
			t.Fatalf("%v: %v", err, m)
		}
	}
	return out
}

func scribble(body []byte) {
	for i := range body {
		body[i] = '#'
	}
}

func ownedStream(t *testing.T, c codec.Codec, frames []codec.Frame) {
	t.Helper()
	kept, lost := c.NewStreamDecoder(), c.NewStreamDecoder()
	var want, got []*genwayv1.StreamGenerateTextResponse
	for _, f := range frames {
		events, _ := kept.Decode(codec.Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
		want = append(want, events...)
		data := bytes.Clone(f.Data)
		events, _ = lost.Decode(codec.Frame{Event: f.Event, Data: data})
		got = append(got, events...)
		scribble(data)
	}
	events, _ := kept.Close()
	want = append(want, events...)
	events, _ = lost.Close()
	got = append(got, events...)
	if len(got) != len(want) {
		t.Fatalf("%d events, not %d, of %v", len(got), len(want), Frames(frames))
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Fatalf("a part of a frame of %v is in\n%v\nnot\n%v", Frames(frames), got[i], want[i])
		}
	}
}
