package core

import (
	"context"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/intake"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
)

// The raw body of a request that an edge sends over a connection is in memory that is used again
// (arena.Body). A body of one caller in the request of another would be the worst of errors, so the memory
// is given back only where it is known who has seen the body: the call succeeded, its body was not decoded,
// which makes parts of it the messages', nothing captures it, and each call of an upstream has sent it to
// its end. All other bodies are left to the collector.

// unreferenced reports whether nothing of a request refers to its raw body once the request is answered.
func unreferenced(asked *deferred.Request) bool { return !asked.Decoded() && !mayRefer(asked) }

// releaseBody ends the call's own hold on the body of its request, if it can.
func releaseBody(record *call.Record, err error) {
	if record.Body == nil || err != nil || !record.BodyUnreferenced || record.Capture != nil || record.CallerLeft {
		return
	}
	if record.BodySent > 0 && record.BodySent == record.Calls {
		record.Body.Release()
	}
}

// incoming is a unary call of a server whose message is to be received.
type incoming struct {
	registrar

	ctx    context.Context //nolint:containedctx // The handler asks for the message without one.
	stream grpc.ServerStream
	name   string
	memory *arena.Body // of the message's raw body; nil is the collector's
}

// receive reads the message. That of an edge may be in memory that is used again.
func (c *incoming) receive(m any) error {
	if intake.Of(c.ctx) == nil {
		c.memory = arena.NewBody()
		m = transport.Into(m, &c.memory.Arena)
	}
	return c.interceptors.undelivered(c.ctx, c.name, receive(c.ctx, c.stream, m, true))
}

// intercept makes the call, once its message is received.
func (c *incoming) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if c.memory != nil && c.memory.Used() {
		ctx = arena.WithBody(ctx, c.memory)
	}
	return c.unary(ctx, req, info, handler)
}
