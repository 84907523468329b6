package transport

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Codec is gRPC's protobuf codec, except that it copies large JSON bodies neither into the
// bytes of a message nor out of them. Other implementations read what it writes, and it
// reads what they write.
//
// It is for grpc.ForceCodecV2 and grpc.ForceServerCodecV2. gRPC reads a body until it is on
// the wire, which may be after the call. The sender must not change the body afterwards, nor
// use its memory again.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// large is the size from which a body is not copied. A copy of a smaller one costs less.
const large = 8 << 10

// carrier is a message with a body, in its field 15.
type carrier interface {
	proto.Message
	GetWire() *genwayv1.WireMessage
}

var standard = encoding.GetCodecV2(protocodec.Name)

// Name is the name of gRPC's own codec, which has the same encoding.
func (Codec) Name() string { return protocodec.Name }

// Marshal encodes a message. The bytes of a large body are shared, not copied.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case answered:
		return m.marshal()
	case lent:
		return m.marshal()
	case Encoded:
		return m.BufferSlice, nil
	}
	if m, ok := v.(carrier); ok && len(m.GetWire().GetJson()) >= large {
		head, body, err := split(m)
		return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(body)}, err
	}
	return standard.Marshal(v)
}

// Unmarshal decodes a message. A large body shares the memory of the received message, which
// nothing else uses.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if event, ok := v.(*genwayv1.StreamGenerateTextResponse); ok && unmarshalBatch(data, event) {
		return nil
	}
	var memory *arena.Arena
	if a, ok := v.(awaited); ok {
		v, memory = a.carrier, a.memory
	}
	if m, ok := v.(carrier); ok && data.Len() >= large {
		whole := memory.Make(data.Len())
		data.CopyTo(whole)
		return join(whole, m)
	}
	return standard.Unmarshal(data, v)
}
