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
)

// batchMessage is an event with a batch of frames, and its encoding.
func batchMessage(events []byte, count int32) (*genwayv1.StreamGenerateTextResponse, []byte) {
	batch := &edgev1.FrameBatch{Events: events, Count: count}
	frame := &genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Batch: batch}
	m := &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: frame}}
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return m, data
}

// An event with a batch of frames takes two pieces of memory, and shares none with the bytes that were
// received, which gRPC overwrites.
func TestFrameBatch(t *testing.T) {
	want, data := batchMessage([]byte("data: {}\n\n"), 1)
	received := bytes.Clone(data)
	got := &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Ping{Ping: &genwayv1.Ping{}}}
	got.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 2000, protowire.VarintType), 7))
	if err := (transport.Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(received)}, got); err != nil {
		t.Fatal(err)
	}
	clear(received)
	if !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	pieces := mem.BufferSlice{mem.SliceBuffer(data)}
	if n := testing.AllocsPerRun(100, func() { _ = (transport.Codec{}).Unmarshal(pieces, got) }); n > 2 {
		t.Errorf("%.0f pieces of memory", n)
	}
}

// Whatever the bytes of an event are, the codec makes of them what proto.Unmarshal does: of fields that
// are there twice, in another order, of another type, too large, unknown, or cut.
func FuzzFrameBatch(f *testing.F) {
	varint := func(n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
	}
	text := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	_, whole := batchMessage([]byte("data: {}\n\n"), 3)
	batch := join(text(1, []byte("data: {}\n\n")), varint(2, 3))
	f.Add([]byte(nil))
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(whole, 0xff))
	f.Add(join(whole, whole)) // the second is merged into the first
	_, empty := batchMessage(nil, 0)
	f.Add(empty)
	for _, frame := range [][]byte{
		join(varint(1, 2), text(7, batch)), join(text(7, batch), varint(1, 2)), join(varint(1, 2), varint(1, 3), text(7, batch)),
		join(text(7, batch), text(7, text(1, []byte("more")))), join(varint(1, 1<<63), text(7, varint(2, 1<<40))), join(varint(1, 2), varint(7, 1)),
		text(7, join(batch, text(3, whole))), text(7, join(batch, varint(9, 1))), join(text(2, []byte("event")), text(3, []byte("{}"))),
		text(7, join(varint(2, 1), text(1, nil), varint(2, 2))), text(7, varint(1, 1)), text(7, join(batch, protowire.AppendTag(nil, 9, protowire.StartGroupType))),
	} {
		f.Add(text(15, frame))
		f.Add(join(text(15, frame), varint(2000, 7)))
	}
	f.Add(text(1, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got genwayv1.StreamGenerateTextResponse
		wrong := proto.Unmarshal(data, &want)
		err := transport.Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &got)
		if (err != nil) != (wrong != nil) || err == nil && !proto.Equal(&got, &want) {
			t.Fatalf("%v, %v, want %v, %v", err, &got, wrong, &want)
		}
	})
}

func BenchmarkFrameBatch(b *testing.B) {
	_, data := batchMessage(bytes.Repeat([]byte("d"), 250), 1)
	pieces := mem.BufferSlice{mem.SliceBuffer(data)}
	for name, unmarshal := range map[string]func(*genwayv1.StreamGenerateTextResponse) error{
		"codec":    func(m *genwayv1.StreamGenerateTextResponse) error { return transport.Codec{}.Unmarshal(pieces, m) },
		"protobuf": func(m *genwayv1.StreamGenerateTextResponse) error { return proto.Unmarshal(data, m) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := unmarshal(new(genwayv1.StreamGenerateTextResponse)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
