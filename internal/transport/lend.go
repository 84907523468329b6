package transport

import (
	"context"

	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// lent is a request whose raw body is in memory that is used again. Each time that it is encoded,
// gRPC becomes one more reader of that memory, until all that it may send again is on the wire.
type lent struct {
	carrier

	memory *arena.Body
}

// marshal encodes the request. Its body is shared, unless it is small.
func (l lent) marshal() (mem.BufferSlice, error) {
	if len(l.GetWire().GetJson()) < large {
		return standard.Marshal(l.carrier)
	}
	head, body, err := split(l.carrier)
	if err != nil {
		return nil, err
	}
	l.memory.Retain()
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&body, releasing{l.memory})}, nil
}

// releasing is a pool of one body, to which gRPC returns it after the last use.
type releasing struct{ memory *arena.Body }

// Get allocates memory of its own.
func (releasing) Get(n int) *[]byte { return new(make([]byte, n)) }

// Put ends gRPC's reading.
func (r releasing) Put(*[]byte) { r.memory.Release() }

// lend returns the message for a call of ctx, which is lent if its body is.
func lend(m any, memory *arena.Body) any {
	if c, ok := m.(carrier); ok && memory != nil {
		return lent{c, memory}
	}
	return m
}

// lending has streams send bodies that are lent by their contexts.
func lending(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, opts...)
	if memory := arena.BodyOf(ctx); memory != nil && err == nil {
		return lendingStream{stream, memory}, nil
	}
	return stream, err
}

// lendingStream is a stream whose requests are lent.
type lendingStream struct {
	grpc.ClientStream

	memory *arena.Body
}

// SendMsg sends a request.
func (s lendingStream) SendMsg(m any) error { return s.ClientStream.SendMsg(lend(m, s.memory)) }

// Encoded is a message that Codec has encoded already.
type Encoded struct{ mem.BufferSlice }

// Encode encodes a message.
func Encode(m any) (Encoded, error) {
	data, err := Codec{}.Marshal(m)
	return Encoded{data}, err
}

// Then has done be called when gRPC is through with the message: it is on the wire, or will never be. A connection that ends
// first may keep it from being called.
func (e Encoded) Then(done func()) Encoded {
	return Encoded{append(e.BufferSlice, mem.NewBuffer(&nothing, then(done)))}
}

// nothing is empty, and of a size that gRPC returns to its pool.
var nothing = make([]byte, 0, 4<<10)

// then is a pool of nothing, to which gRPC returns it after the last use of the message before.
type then func()

// Get allocates memory.
func (then) Get(n int) *[]byte { return new(make([]byte, n)) }

// Put ends gRPC's use.
func (t then) Put(*[]byte) { t() }
