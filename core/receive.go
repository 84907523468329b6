package core

import (
	"context"
	"errors"
	"slices"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/intake"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
)

// receive reads a message of a stream. That of a direct caller is read within the bounds
// of the intake.
func receive(ctx context.Context, stream grpc.ServerStream, m any, only bool) error {
	if direct := intake.Of(ctx); direct != nil {
		return direct.Receive(ctx, m, transport.Codec{}, only)
	}
	return stream.RecvMsg(m)
}

// send sends a message of a stream. A direct caller's call bounds it; nil is an edge's, which has no bounds.
func send(direct *intake.Call, stream grpc.ServerStream, m any) error {
	if direct != nil {
		return direct.Send(stream, m)
	}
	return stream.SendMsg(m)
}

// registrar registers services so that the message of a unary call is read by receive.
// grpc-go reads it before any interceptor; it does not for what is registered as a
// stream. Callers see no difference, and reflection neither.
type registrar struct {
	*grpc.Server

	interceptors Interceptors
	unary        grpc.UnaryServerInterceptor
}

// RegisterService registers a service with its unary methods as streams of one message
// each way.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	streams := *desc
	streams.Methods = nil
	for _, method := range desc.Methods {
		streams.Streams = append(slices.Clip(streams.Streams), grpc.StreamDesc{
			StreamName: method.MethodName,
			Handler:    r.handler("/"+desc.ServiceName+"/"+method.MethodName, method),
		})
	}
	r.Server.RegisterService(&streams, service)
}

// handler serves a unary method.
func (r registrar) handler(name string, method grpc.MethodDesc) grpc.StreamHandler {
	return func(service any, stream grpc.ServerStream) error {
		ctx := stream.Context()
		if err := refused(ctx); err != nil {
			return err
		}
		c := &incoming{registrar: r, ctx: ctx, stream: stream, name: name}
		reply, err := method.Handler(service, ctx, c.receive, c.intercept)
		if err != nil {
			return err
		}
		if err := send(intake.Of(ctx), stream, reply); err != nil {
			return r.interceptors.undelivered(ctx, name, err)
		}
		return nil
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

// serverStream is a stream with a context of our own.
type serverStream struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // grpc.ServerStream hands its context out by a method.
	only bool            // the caller sends one message
	// memory is for the body of that message; nil is the collector's.
	memory *arena.Body
	// direct bounds the answers to a direct caller; nil for an edge.
	direct *intake.Call
}

func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg reads the caller's message, within the bounds of the intake.
func (s *serverStream) RecvMsg(m any) error {
	if s.memory == nil {
		return receive(s.ctx, s.ServerStream, m, s.only)
	}
	err := receive(s.ctx, s.ServerStream, transport.Into(m, &s.memory.Arena), s.only)
	if s.memory.Used() {
		call.Of(s.ctx).Body = s.memory
	}
	return err
}

// SendMsg sends an answer, within the bounds of the intake.
func (s *serverStream) SendMsg(m any) error {
	return send(s.direct, s.ServerStream, m)
}

// undelivered returns the status of a message that could not be read, or sent, and logs the call, which
// does not come to the interceptors with it.
func (i Interceptors) undelivered(ctx context.Context, method string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	ctx, record := i.begin(ctx, method)
	if !open(method) {
		_ = i.identify(ctx, record) // for the log; a key that was good as the call began may have ended
	}
	sendIDs(ctx, record)
	i.finish(ctx, record, f)
	return statusError(f, record.ID)
}
