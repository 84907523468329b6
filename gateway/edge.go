package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/rs/cors"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Edge is the HTTP side of Genway: an http.Handler.
type Edge struct {
	config    Config
	headers   Headers // of config, in their canonical form
	client    genwayv1.GenerationClient
	health    grpc_health_v1.HealthClient
	endpoints map[genwayv1.Protocol]*endpoint
	bodies    *bodies
	accepted  acceptedKeys
	cors      *cors.Cors // nil for no origin
}

// New builds an edge in front of config.Core.
func New(config Config) (*Edge, error) {
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	pages, err := newCORS(config.CORSOrigins)
	if err != nil {
		return nil, err
	}
	e := &Edge{
		cors:      pages,
		config:    config,
		headers:   config.Headers.canonical(),
		client:    &client{listener{genwayv1.NewGenerationClient(config.Core)}, config.Heartbeat},
		health:    grpc_health_v1.NewHealthClient(config.Core),
		endpoints: map[genwayv1.Protocol]*endpoint{},
		bodies:    newBodies(config.BodyMemory),
	}
	for _, p := range []struct {
		protocol genwayv1.Protocol
		name     string
		text     codec.Codec
	}{
		{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "chat_completions", chat.Codec{}},
		{genwayv1.Protocol_PROTOCOL_RESPONSES, "responses", responses.Codec{}},
		{genwayv1.Protocol_PROTOCOL_MESSAGES, "messages", messages.Codec{}},
		{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "generate_content", generatecontent.Codec{}},
		{genwayv1.Protocol_PROTOCOL_IMAGES, "images", chat.Codec{}},
	} {
		endpoint, err := newEndpoint(e, p.protocol, p.name, p.text)
		if err != nil {
			return nil, err
		}
		e.endpoints[p.protocol] = endpoint
	}
	return e, nil
}

// ServeHTTP answers one request, in the protocol of its path or key; the preflight of a
// browser, which has neither, by what pages may do.
func (e *Edge) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if e.cors == nil {
		e.serve(rw, r)
		return
	}
	e.cors.ServeHTTP(rw, r, e.serve)
}

func (e *Edge) serve(rw http.ResponseWriter, r *http.Request) {
	path, found := e.match(r)
	x := &exchange{endpoint: e.endpoints[path.protocol], id: e.config.NewRequestID(), start: time.Now()}
	x.w = newAnswerWriter(rw, x.id, e.config.WriteTimeout)
	x.w.bodyRead = r.ContentLength == 0 || r.ProtoMajor != 1 // HTTP/2 resets the stream
	x.clientID = clientID(r.Header)
	if x.clientID != "" {
		x.w.Header()["X-Client-Request-Id"] = []string{x.clientID}
	}
	x.client = e.clientAddress(r)
	defer e.finish(x, r, r.URL.Path)
	defer x.recoverPanic(e.config.Logger)
	r = withExchange(r, x)
	switch {
	case !found:
		x.fail(notFound(r.URL.Path))
	case path.handle != nil && path.allows(r.Method):
		path.handle(e, &x.w, r)
	case isUpgrade(r) && path.protocol == genwayv1.Protocol_PROTOCOL_RESPONSES:
		x.fail(fault.New(fault.UpgradeRequired, fault.ReasonUpgradeRequired, "this server does not speak WebSocket; send the request as POST"))
	case !path.allows(r.Method):
		x.w.Header().Set("Allow", path.allow())
		x.fail(fault.New(fault.MethodNotAllowed, fault.ReasonMethod, "%s is not allowed on %s; allowed: %s", clip(r.Method, 16), path.name, path.allow()))
	default:
		x.endpoint.serve(path, x, r) //nolint:contextcheck // the request has it
	}
}

// recoverPanic turns a panic into an internal error of the caller's protocol.
func (x *exchange) recoverPanic(log *slog.Logger) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	log.Error("panic at the edge", "request_id", x.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	x.failAnywhere(fault.Wrap(fmt.Errorf("panic: %v", p), fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage))
}

// finish writes the request's line to the log. The path is that of the caller.
func (e *Edge) finish(x *exchange, r *http.Request, path string) {
	level, grave := slog.LevelInfo, x.fault != nil && x.fault.Cause != nil && x.fault.HTTPStatus() >= 500
	switch {
	case grave:
		level = slog.LevelError
	case path == healthPath && x.w.status == http.StatusOK:
		level = slog.LevelDebug // probes come every second, and say nothing while all is well
	}
	ctx, log := r.Context(), e.config.Logger.Handler()
	if !log.Enabled(ctx, level) {
		return
	}
	// Made by hand: a Logger would look for the line of the program first.
	now := time.Now()
	line := slog.NewRecord(now, level, "request", 0)
	line.AddAttrs(
		slog.String("request_id", x.id),
		slog.String("protocol", x.endpoint.name),
		slog.String("method", clip(r.Method, 16)),
		slog.String("path", clip(path, 200)),
		slog.Int("status", x.w.status),
		slog.Int64("bytes", x.w.bytes),
		slog.Float64("duration_seconds", float64(now.Sub(x.start).Microseconds())/1e6),
	)
	if x.key != "" {
		line.AddAttrs(slog.String("key", x.key))
	}
	if x.client != "" {
		line.AddAttrs(slog.String("client", x.client))
	}
	if x.clientID != "" {
		line.AddAttrs(slog.String("client_request_id", x.clientID))
	}
	if x.fault != nil {
		line.AddAttrs(slog.String("reason", x.fault.Reason), slog.String("kind", fault.Name(x.fault.Kind)))
	}
	if grave {
		line.AddAttrs(slog.String("cause", x.fault.Cause.Error()))
	}
	_ = log.Handle(ctx, line)
}
