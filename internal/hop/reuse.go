package hop

import (
	"context"

	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Reuse has the server's calls answer out of an arena, which is free again when the
// answer is on the wire. The interceptor is the outermost: what it answers is for the
// codec alone.
func Reuse(inner grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		memory := new(arena.Arena)
		resp, err := inner(arena.With(ctx, memory), req, info, handler)
		if m, ok := resp.(carrier); ok && err == nil && memory.Used() {
			return answered{m, memory}, nil
		}
		return resp, err
	}
}

// answered is a message with the memory that its body is in.
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

// freeing is the pool of a body that is all there is in it: the memory is free when gRPC
// has no more use for the body.
type freeing struct{ memory *arena.Arena }

// Get gives memory that is nobody's.
func (freeing) Get(n int) *[]byte { return new(make([]byte, n)) }

// Put frees.
func (f freeing) Put(*[]byte) { f.memory.Free() }

// awaiting has answers come in the memory of the context's arena, if it has one.
func awaiting(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if m, ok := reply.(carrier); ok {
		if memory := arena.Of(ctx); memory != nil {
			reply = awaited{m, memory}
		}
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}

// awaited is a message to be read into an arena.
type awaited struct {
	carrier

	memory *arena.Arena
}
