package core

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/intake"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Interceptors wrap every call of the service, whichever way it comes in: they
// name it, log it, turn faults into statuses, survive panics and authenticate.
type Interceptors struct {
	Authenticator auth.Authenticator
	// Gate refuses calls while the process is overloaded; nil admits all.
	Gate *overload.Gate
	// InProcess says that the calls are those of an edge in this process, which has the
	// same gate: a call that the edge has admitted does not ask again.
	InProcess bool
	// Logger gets one line a call. Default: slog.Default().
	Logger *slog.Logger
	// Metrics count calls; nil does not. Tracer makes their spans; nil makes none.
	Metrics *instrument.Core
	Tracer  *tracing.Tracer
	// Board lists the calls in flight; nil does not.
	Board *flight.Board
	// Intake, if set, bounds what the calls of direct callers cost while their messages
	// come in. NewServer makes one.
	Intake *intake.Intake
}

// RequestIDKey is the metadata with a call's identifier, both ways.
const RequestIDKey = "x-request-id"

// ClientRequestIDKey is the metadata with the identifier that a caller of an edge gave
// its request. The log has it together with the call's own.
const ClientRequestIDKey = "genway-client-request-id"

// KeyKey is the metadata that names to an edge the key of a call.
const KeyKey = "genway-key"

// longestID bounds an identifier of a caller's, in bytes.
const longestID = 128

// Unary is the interceptor of unary calls.
func (i Interceptors) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	ctx, record := i.begin(ctx, info.FullMethod)
	err = i.guard(ctx, record, func(ctx context.Context) error {
		var err error
		if auth.Administrates(record.Method) {
			if err := admin.CheckTexts(ctx, req); err != nil {
				return err
			}
		}
		resp, err = handler(ctx, req)
		releaseBody(record, err)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream is the interceptor of streams.
func (i Interceptors) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := refused(stream.Context()); err != nil {
		return err
	}
	ctx, record := i.begin(stream.Context(), info.FullMethod)
	return i.guard(ctx, record, func(ctx context.Context) error {
		s := &serverStream{ServerStream: stream, ctx: ctx, only: !info.IsClientStream}
		if s.only && record.Caller.Edge && !i.InProcess {
			s.memory = arena.NewBody()
		}
		err := handler(srv, s)
		releaseBody(record, err)
		return err
	})
}

// serverStream is a stream with a context of ours.
type serverStream struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // grpc.ServerStream hands its context out by a method.
	only bool            // the caller sends one message
	// memory is for the body of that message; nil is the collector's.
	memory *arena.Body
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
func (s *serverStream) SendMsg(m any) error { return send(s.ctx, s.ServerStream, m) }

func (i Interceptors) begin(ctx context.Context, method string) (context.Context, *call.Record) {
	var id string
	if shown := transport.Incoming(ctx, RequestIDKey); len(shown) > 0 && sane(shown[0]) {
		id = shown[0]
	} else {
		id = identifier.New("req_")
	}
	record := &call.Record{ID: id, Method: method, Start: time.Now(), Span: i.Tracer.Start(carried(ctx)), Tracer: i.Tracer, Metrics: i.Metrics, Body: arena.BodyOf(ctx)}
	if shown := transport.Incoming(ctx, ClientRequestIDKey); len(shown) > 0 && printable(shown[0]) {
		record.ClientID = shown[0]
	}
	return call.With(ctx, record), record
}

// sane reports whether an identifier of the caller's may stand in logs and
// answers.
func sane(id string) bool {
	if id == "" || len(id) > longestID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// printable reports whether an identifier may stand in logs.
func printable(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != "" && len(id) <= longestID
}

// sendIDs puts the call's identifier into the answer's headers, and for an edge, which
// logs it, that of the caller's key.
func sendIDs(ctx context.Context, r *call.Record) {
	values := [...]string{r.ID, r.Caller.KeyID}
	md := metadata.MD{RequestIDKey: values[0:1:1]}
	if r.Caller.Edge && r.Caller.KeyID != "" {
		md[KeyKey] = values[1:2:2]
		if priorityOf(r.Caller) == overload.Batch {
			md[PriorityKey] = []string{keys.PriorityBatch}
		}
	}
	_ = grpc.SetHeader(ctx, md) // it fails outside of a gRPC server, which has no headers
}

// guard runs a call and makes a status of whatever comes of it.
func (i Interceptors) guard(ctx context.Context, record *call.Record, run func(context.Context) error) error {
	log := i.logger()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("panic in the core", "request_id", record.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = fault.Wrap(fmt.Errorf("panic: %v", p), fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
			}
		}()
		if open(record.Method) {
			sendIDs(ctx, record)
			return run(ctx)
		}
		err = i.identify(ctx, record)
		sendIDs(ctx, record)
		if err != nil {
			return err
		}
		if err := i.admit(ctx, record); err != nil {
			return err
		}
		if i.Board != nil {
			defer i.list(record)()
		}
		return run(ctx)
	}()
	i.crowded(record, err)
	i.finish(ctx, record, err)
	i.announce(ctx, record, err)
	if err == nil || foreign(err) {
		return err
	}
	return statusError(err, record.ID)
}

// identify records the caller, who may make the call. It is apart from what
// runs the call since that is on the stack of every open stream.
func (i Interceptors) identify(ctx context.Context, record *call.Record) (err error) {
	if record.Caller, err = i.Authenticator.Authenticate(ctx, record.Method); err != nil {
		return err
	}
	if auth.Administrates(record.Method) { // calls of Generation are held to it as they are admitted
		if err := permit(ctx, record.Caller, ""); err != nil {
			return err
		}
		return admin.Permit(record.Caller, record.Method)
	}
	return nil
}

// open reports whether a method needs no key: health and reflection.
func open(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.") || strings.HasPrefix(method, "/grpc.reflection.")
}
