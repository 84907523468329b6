package hop

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Codec is protobuf as gRPC has it, except that a large JSON body is neither copied into
// the bytes of a message nor copied again out of those that came. What it writes any
// implementation reads, and the other way round.
//
// It is for grpc.ForceCodecV2 and grpc.ForceServerCodecV2. A body that was handed
// to it is read until it is on the wire, which may be after the call: whoever sends
// one does not change it afterwards, nor use its memory again.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// large is from where on a body goes by itself: below, a copy costs less.
const large = 8 << 10

// carrier is a message with a body, in its field 15.
type carrier interface {
	proto.Message
	GetWire() *genwayv1.WireMessage
}

var standard = encoding.GetCodecV2(protocodec.Name)

// Name is that of gRPC's own codec: it is the same encoding.
func (Codec) Name() string { return protocodec.Name }

// Marshal gives a message's bytes: those of its body, if it is large, are the body's
// own.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if a, ok := v.(answered); ok {
		return a.marshal()
	}
	if m, ok := v.(carrier); ok && len(m.GetWire().GetJson()) >= large {
		head, body, err := split(m)
		return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(body)}, err
	}
	return standard.Marshal(v)
}

// Unmarshal reads a message. A large body shares the memory that the message came in,
// which nothing else uses.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
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
