package core

import (
	"context"
	"errors"
	"slices"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/intake"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
)

// receive reads a message of a stream. That of a direct caller is read within the bounds
// of the intake.
func receive(ctx context.Context, stream grpc.ServerStream, m any, only bool) error {
	if call := intake.Of(ctx); call != nil {
		return call.Receive(ctx, m, transport.Codec{}, only)
	}
	return stream.RecvMsg(m)
}

// send sends a message of a stream. That to a direct caller is sent within the bounds of the intake.
func send(ctx context.Context, stream grpc.ServerStream, m any) error {
	if call := intake.Of(ctx); call != nil {
		return call.Send(stream, m)
	}
	return stream.SendMsg(m)
}

// registrar registers services so that the message of a unary call is read by receive.
// grpc-go reads it ahead of any interceptor; it does not for what is registered as a
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
		if err := send(ctx, stream, reply); err != nil {
			return r.interceptors.undelivered(ctx, name, err)
		}
		return nil
	}
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
