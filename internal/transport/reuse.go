package transport

import (
	"context"

	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Reuse is the interceptor that returns each call of a server an arena for its answer, and
// releases the arena once the answer is on the wire. It must be the outermost interceptor,
// since only Codec understands what it returns.
func Reuse(inner grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		memory := new(arena.Arena)
		returned := false
		defer func() {
			if !returned { // it panics
				memory.Drop()
			}
		}()
		resp, err := inner(arena.With(ctx, memory), req, info, handler)
		returned = true
		if m, ok := resp.(carrier); ok && err == nil && memory.Used() {
			return answered{m, memory}, nil
		}
		memory.Drop()
		return resp, err
	}
}

// answered is a message with the arena that holds its body.
type answered struct {
	carrier

	memory *arena.Arena
}

func (a answered) marshal() (mem.BufferSlice, error) {
	if len(a.GetWire().GetJson()) < large {
		data, err := standard.Marshal(a.carrier)
		a.memory.Free()
		return data, err
	}
	head, body, err := split(a.carrier)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&body, freeing{a.memory})}, nil
}

// freeing is a pool of one body. gRPC returns the body to it after the last use, and the
// arena is then released.
type freeing struct{ memory *arena.Arena }

// Get allocates memory outside of the arena.
func (freeing) Get(n int) *[]byte { return new(make([]byte, n)) }

// Put releases the arena.
func (f freeing) Put(*[]byte) { f.memory.Free() }

// awaiting decodes answers into the memory of the context's arena, if it has one, and sends bodies that
// the context lends.
func awaiting(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if memory := arena.Of(ctx); memory != nil {
		reply = Into(reply, memory)
	}
	return invoke(ctx, method, lend(req, arena.BodyOf(ctx)), reply, conn, opts...)
}

// Into returns what to receive in the place of a message, so that Codec decodes a large body into memory.
// It is the message itself where the message has no raw body.
func Into(m any, memory *arena.Arena) any {
	if c, ok := m.(carrier); ok {
		return awaited{c, memory}
	}
	return m
}

// awaited is a message to be decoded into an arena.
type awaited struct {
	carrier

	memory *arena.Arena
}
