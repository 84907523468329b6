package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/intake"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/refusals"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/frames"
	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/internal/transport/inproc"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
)

// Interceptors wrap every call of the service, whichever way it comes in: they
// name it, log it, turn faults into statuses, survive panics and authenticate.
type Interceptors struct {
	Authenticator auth.Authenticator
	// Gate refuses calls while the process is overloaded; nil admits all.
	Gate *overload.Gate
	// InProcess says that the calls come from an edge in this process, which has the
	// same gate: a call that the edge has admitted does not ask again.
	InProcess bool
	// Logger gets one line a call. Default: slog.Default().
	Logger *slog.Logger
	// Metrics count calls; nil does not. Tracer makes their spans; nil makes none.
	Metrics *instrument.Core
	Tracer  *tracing.Tracer
	// Board lists the calls in flight; nil does not.
	Board *flight.Board
	// Refused keeps calls of Generation that were refused; nil does not.
	Refused *refusals.Log
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
		s := &serverStream{ServerStream: stream, ctx: ctx, only: !info.IsClientStream, direct: intake.Of(ctx)}
		if s.only && record.Caller.Edge && !i.InProcess {
			s.memory = arena.NewBody()
		}
		err := handler(srv, s)
		releaseBody(record, err)
		return err
	})
}

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
	fields := [...]transport.Field{{Name: RequestIDKey, Value: r.ID}, {Name: KeyKey, Value: r.Caller.KeyID}, {Name: PriorityKey, Value: keys.PriorityBatch}}
	switch {
	case !r.Caller.Edge || r.Caller.KeyID == "":
		transport.SetHeader(ctx, fields[:1]...)
	case priorityOf(r.Caller) == overload.Batch:
		transport.SetHeader(ctx, fields[:]...)
	default:
		transport.SetHeader(ctx, fields[:2]...)
	}
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

// deferredBodies is the announcement that this core takes deferred bodies.
var deferredBodies = []string{transport.DeferredBodies}

// announce adds to the trailer of an edge's call what the edge needs to know of this core: that
// it takes deferred bodies, and whether the call may be sent to another core. The former is left
// out where the edge knows it: an edge in this process knows it from the start, and an edge
// that sent this request deferred has had the announcement on this connection.
func (i Interceptors) announce(ctx context.Context, r *call.Record, err error) {
	if !r.Caller.Edge {
		return
	}
	how, known := refusedAs(r, err), i.InProcess || r.Deferred
	if known && how == "" {
		return
	}
	trailer := metadata.MD{}
	if !known {
		trailer[transport.AcceptsKey] = deferredBodies
	}
	if how != "" {
		trailer[transport.RefusedKey] = []string{how}
	}
	_ = grpc.SetTrailer(ctx, trailer) // fails outside of a gRPC server only
}

// refusedAs returns the value of transport.RefusedKey for a call that has failed before it was
// admitted, for a reason that another core may not share; otherwise it is empty. An entry that
// the ledger could not write in time may still be written, so such a call does not count.
func refusedAs(r *call.Record, err error) string {
	if err == nil || r.Admitted {
		return ""
	}
	switch f := fault.From(err); {
	case f.Reason == ledger.ReasonRefused:
	case f.Kind == fault.Unavailable:
		return transport.RefusedUnavailable
	case f.Kind == fault.Overloaded:
		return transport.RefusedOverloaded
	}
	return ""
}

// Channel is the connection of an edge in the same process to the service: calls without a
// network, through the same interceptors. Messages are handed over, not copied:
// the sender must not touch one again. The edge knows that the service takes deferred bodies.
func Channel(service *Service, interceptors Interceptors, health grpc_health_v1.HealthServer) grpc.ClientConnInterface {
	channel := &inproc.Channel{Unary: interceptors.Unary, Stream: interceptors.Stream}
	genwayv1.RegisterGenerationServer(channel, service)
	edgev1.RegisterAccessServer(channel, service)
	grpc_health_v1.RegisterHealthServer(channel, health)
	return inProcess{channel}
}

// AdminChannel is the connection of a console in the same process to the Admin service: calls without
// a network, through the same interceptors, with the rights of the key that each call shows.
// The console is believed where its caller is (auth.AddressKey), for keys that are good from
// some addresses only.
func AdminChannel(service adminv1.AdminServer, interceptors Interceptors) grpc.ClientConnInterface {
	channel := believed(interceptors)
	adminv1.RegisterAdminServer(channel, service)
	return channel
}

// DirectChannel is the connection of a console in the same process to the Generation service as a direct
// caller, with the rights of the key that each call shows. Where the caller is, is believed as by
// AdminChannel; that it is an edge is not.
func DirectChannel(service *Service, interceptors Interceptors) grpc.ClientConnInterface {
	channel := believed(interceptors)
	genwayv1.RegisterGenerationServer(channel, service)
	return channel
}

// believed makes a channel whose calls say where they come from.
func believed(interceptors Interceptors) *inproc.Channel {
	return &inproc.Channel{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return interceptors.Unary(from(ctx), req, info, handler)
		},
		Stream: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return interceptors.Stream(srv, &serverStream{ServerStream: stream, ctx: from(stream.Context()), only: true}, info, handler)
		},
	}
}

// from returns a context whose peer is where a console's caller is.
func from(ctx context.Context) context.Context {
	if shown := transport.Incoming(ctx, auth.AddressKey); len(shown) == 1 {
		if at, err := netip.ParseAddr(shown[0]); err == nil {
			return peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 0))})
		}
	}
	return ctx
}

// inProcess is a connection to the core of this process.
type inProcess struct{ *inproc.Channel }

// TakesDeferredBodies reports what a core announces over a connection.
func (inProcess) TakesDeferredBodies() bool { return true }

// PriorityKey is the metadata that names to an edge a key's priority if that is batch, and in
// which an edge in the same process says that it knows.
const PriorityKey = "genway-priority"

// admit refuses a call while the process is overloaded. Only calls of Generation are
// refused, and of those not the question whether a key is good: administration and health
// work when they are needed most.
func (i Interceptors) admit(ctx context.Context, record *call.Record) error {
	if i.Gate == nil || !strings.HasPrefix(record.Method, generation) {
		return nil
	}
	priority := priorityOf(record.Caller)
	if i.InProcess && (priority == overload.Interactive || len(transport.Incoming(ctx, PriorityKey)) > 0) {
		return nil
	}
	err := i.Gate.Admit(ctx, priority)
	if err == nil {
		return nil
	}
	record.Shed = true
	if !record.Caller.Edge { // an edge has callers of its own, whose answers it holds back
		i.Gate.Hold(ctx, record.Start)
	}
	return err
}

// Gatekeeper is an upstream that knows when it would refuse a request for want of a place.
type Gatekeeper interface {
	// Full returns that refusal, or nil.
	Full(protocol genwayv1.Protocol, model string, asked proto.Message, p overload.Priority) error
}

// full refuses a request that no upstream has a place for, before it is counted or
// recorded.
func (s *Service) full(record *call.Record, req request, p overload.Priority) error {
	keeper, ok := s.config.Upstream.(Gatekeeper)
	if !ok {
		return nil
	}
	return keeper.Full(record.Caller.Protocol, record.AskedModel, req.message(), p)
}

// crowded counts a call that has found no place at an upstream. Nothing was called for it.
func (i Interceptors) crowded(record *call.Record, err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Reason == fault.ReasonUpstreamBusy && record.Calls == 0 {
		record.Shed = true
		_ = i.Gate.Refuse(overload.Upstream, priorityOf(record.Caller))
	}
}

// generation begins the names of the service's methods.
const generation = "/genway.v1.Generation/"

// priorityOf returns the priority of a caller's key.
func priorityOf(caller call.Caller) overload.Priority {
	if caller.Policy != nil && caller.Policy.Priority == keys.PriorityBatch {
		return overload.Batch
	}
	return overload.Interactive
}

// Tap refuses direct callers whose key is not good by the headers of their call, before
// any of its message is read, and has the intake bound what the others send. The key of a
// call from an edge is looked at when its message is there: edges bound what their callers
// may send.
//
// It is for grpc.InTapHandle, which runs it on the goroutine that reads the connection: a
// key that has to be looked up in the store holds up only the caller's own connection.
func (i Interceptors) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if i.Authenticator.FromEdge(ctx) || open(info.FullMethodName) && i.Authenticator.Trusts(ctx) {
		if connection, ok := peer.FromContext(ctx); ok { // it carries the calls of many callers
			frames.Trust(connection.Addr)
		}
		return ctx, nil
	}
	_, record := i.begin(ctx, info.FullMethodName)
	if !open(info.FullMethodName) {
		if err := i.identify(ctx, record); err != nil {
			return i.turnAway(ctx, record, err)
		}
	}
	if i.Intake == nil {
		return ctx, nil
	}
	who := intake.Caller{Key: record.Caller.KeyID, Keyless: open(info.FullMethodName)}
	if address := auth.AddressOf(ctx, record.Caller); address.IsValid() {
		who.Address = networkOf(address)
	}
	taken, err := i.Intake.Begin(ctx, who)
	if err != nil {
		return i.turnAway(ctx, record, err)
	}
	return taken, nil
}

// networkOf names the address, or of IPv6 the network of 64 bits, that one caller has.
func networkOf(address netip.Addr) string {
	address = address.Unmap()
	if address.Is6() {
		if network, err := address.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

// turnAway refuses a call by its headers. One with a deadline is refused by its handler:
// grpc-go keeps the timer of a deadline whose call a tap has refused.
func (i Interceptors) turnAway(ctx context.Context, record *call.Record, err error) (context.Context, error) {
	i.finish(ctx, record, err)
	err = statusError(err, record.ID)
	if _, timed := ctx.Deadline(); timed {
		return intake.Refuse(ctx, err), nil
	}
	return ctx, err
}

// refused returns the error of a call that turnAway has left to its handler, with the call's
// identifier in the headers; nil for a call that goes on.
func refused(ctx context.Context) error {
	err := intake.Refused(ctx)
	for _, detail := range status.Convert(err).Details() {
		if d, ok := detail.(*genwayv1.ErrorDetail); ok {
			transport.SetHeader(ctx, transport.Field{Name: RequestIDKey, Value: d.GetRequestId()})
		}
	}
	return err
}
