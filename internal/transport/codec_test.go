package transport_test

import (
	"bytes"
	"testing"

	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// message draws a message with a body of any size, and fields on both sides of it.
func message(t *rapid.T) proto.Message {
	wire := &genwayv1.WireMessage{
		Protocol:  genwayv1.Protocol_PROTOCOL_MESSAGES,
		Json:      bytes.Repeat([]byte("j"), rapid.SampledFrom([]int{0, 1, 1000, 8<<10 - 1, 8 << 10, 50_000}).Draw(t, "size")),
		Extension: &edgev1.RequestExtension{AcceptsBatches: rapid.Bool().Draw(t, "batches")},
	}
	if rapid.Bool().Draw(t, "headers") {
		wire.Headers = map[string]string{"anthropic-beta": "a"}
	}
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 2000, protowire.VarintType), 7)
	if rapid.Bool().Draw(t, "unknown") {
		wire.ProtoReflect().SetUnknown(unknown)
	}
	text := &genwayv1.GenerateTextRequest{
		Model: "m", Wire: wire, Verbosity: rapid.SampledFrom([]string{"", "low"}).Draw(t, "verbosity"),
		MaxOutputTokens: rapid.SampledFrom([]*int64{nil, new(int64), proto.Int64(5)}).Draw(t, "max"),
		Messages:        []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER}},
	}
	image := &genwayv1.GenerateImageResponse{Wire: wire, Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte("d")}}}}
	count := &genwayv1.CountTokensRequest{Wire: wire, Request: text}
	frame := &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: &genwayv1.WireFrame{Data: wire.Json}}}
	m := rapid.SampledFrom([]proto.Message{text, image, count, frame, &genwayv1.GenerateTextRequest{Wire: wire}, &genwayv1.GenerateTextRequest{}}).Draw(t, "message")
	if rapid.Bool().Draw(t, "unknown outside") {
		m.ProtoReflect().SetUnknown(unknown)
	}
	return m
}

// pieces cuts bytes as frames do.
func pieces(t *rapid.T, data []byte) mem.BufferSlice {
	var cut mem.BufferSlice
	for len(data) > 0 {
		n := rapid.IntRange(1, len(data)).Draw(t, "piece")
		cut, data = append(cut, mem.SliceBuffer(data[:n])), data[n:]
	}
	return cut
}

// Other implementations read what the codec writes, and the codec what they write.
func TestItIsProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := message(t)
		same := func(err error, got proto.Message) {
			if err != nil || !proto.Equal(got, want) {
				t.Fatalf("%v, %v, want %v", err, got, want)
			}
		}
		empty := func() proto.Message { return want.ProtoReflect().New().Interface() }
		kept := proto.Clone(want)
		written, err := transport.Codec{}.Marshal(want)
		got := empty()
		if err == nil {
			err = proto.Unmarshal(written.Materialize(), got)
		}
		same(err, got)
		if !proto.Equal(kept, want) {
			t.Fatal("the message is not what it was")
		}
		theirs, err := proto.Marshal(want)
		got = empty()
		same(err, want)
		same(transport.Codec{}.Unmarshal(pieces(t, theirs), got), got)
		// The previous content is replaced, as by proto.Unmarshal.
		again := &genwayv1.GenerateTextRequest{User: "x", Wire: &genwayv1.WireMessage{Headers: map[string]string{"x": "x"}}}
		if _, text := want.(*genwayv1.GenerateTextRequest); text {
			same(transport.Codec{}.Unmarshal(pieces(t, theirs), again), again)
		}
	})
}

// Whatever comes around a body, the codec makes of it what proto.Unmarshal does: of a
// message in two pieces, of a body that is there twice, of what is none.
func FuzzUnmarshal(f *testing.F) {
	model := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "m")
	body := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte("{}"))
	f.Add([]byte(nil), []byte(nil), []byte(nil), []byte(nil))
	f.Add(model, body, body, model)
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 15, protowire.BytesType), body), []byte(nil), []byte(nil), []byte(nil))
	f.Add(protowire.AppendVarint(protowire.AppendTag(nil, 15, protowire.VarintType), 1), []byte(nil), protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 1), model)
	f.Add(protowire.AppendTag(nil, 9, protowire.StartGroupType), []byte{0xff}, []byte{0x0b}, []byte(nil))
	large := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), bytes.Repeat([]byte("j"), 10_000))
	f.Fuzz(func(t *testing.T, before, within, beyond, after []byte) {
		wire := append(append(bytes.Clone(within), large...), beyond...)
		data := append(protowire.AppendBytes(protowire.AppendTag(bytes.Clone(before), 15, protowire.BytesType), wire), after...)
		var want, got genwayv1.GenerateTextRequest
		wrong := proto.Unmarshal(data, &want)
		err := transport.Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &got)
		if (err != nil) != (wrong != nil) || err == nil && !proto.Equal(&got, &want) {
			t.Fatalf("%v, %v, want %v, %v", err, &got, wrong, &want)
		}
	})
}

// A large body is not copied when it is sent.
func TestALargeBodyIsSentAsItIs(t *testing.T) {
	body := bytes.Repeat([]byte("j"), 1<<20)
	written, err := transport.Codec{}.Marshal(&genwayv1.GenerateTextResponse{Wire: &genwayv1.WireMessage{Json: body}})
	if err != nil || len(written) != 2 || &written[1].ReadOnlyData()[0] != &body[0] {
		t.Errorf("%d pieces, %v", len(written), err)
	}
}

func BenchmarkCodec(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KB", 1000}, {"200KB", 200_000}, {"1.5MB", 1_500_000}} {
		m := &genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{Protocol: 1, Json: make([]byte, size.bytes)}}
		theirs, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		var frames mem.BufferSlice
		for len(theirs) > 0 {
			n := min(len(theirs), 16<<10)
			frames, theirs = append(frames, mem.SliceBuffer(theirs[:n])), theirs[n:]
		}
		b.Run("marshal/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				written, err := transport.Codec{}.Marshal(m)
				if err != nil {
					b.Fatal(err)
				}
				written.Free()
			}
		})
		b.Run("unmarshal/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := (transport.Codec{}).Unmarshal(frames, new(genwayv1.GenerateTextRequest)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
