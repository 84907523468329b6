package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway/cores"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/protocol"
	"github.com/rs/cors"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Edge is the HTTP side of Genway: an http.Handler.
type Edge struct {
	config    Config
	client    genwayv1.GenerationClient
	defers    func() bool // whether the core takes deferred bodies now
	remote    bool        // the core is reached over a connection
	readiness readiness
	endpoints []*endpoint // in the order of the table of protocols
	paths     paths
	answers   answerHeaders
	bodies    *bodyBudget
	accepted  acceptedKeys
	batch     batchKeys
	throttle  throttle
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
	_, remote := config.Core.(*cores.Conn)
	e := &Edge{
		cors:      pages,
		config:    config,
		client:    &client{unaryClient{genwayv1.NewGenerationClient(config.Core), remote}, config.Heartbeat},
		defers:    config.defers(),
		remote:    remote,
		readiness: readiness{client: grpc_health_v1.NewHealthClient(config.Core)},
		answers:   newAnswerHeaders(),
		bodies:    newBodyBudget(config.BodyMemory),
	}
	for _, p := range protocol.All() {
		endpoint, err := newEndpoint(e, p)
		if err != nil {
			return nil, err
		}
		e.endpoints = append(e.endpoints, endpoint)
	}
	e.paths = newPaths(e.endpoints)
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
	x := &exchange{endpoint: path.endpoint, id: e.config.NewRequestID(), start: time.Now()}
	x.w = newAnswerWriter(rw, x.id, e.config.WriteTimeout)
	x.w.silent = r.ProtoMajor != 1 && (e.config.Heartbeat < 0 || e.config.Heartbeat >= e.config.WriteTimeout)
	if e.draining() { // HTTP/2 sends GOAWAY
		x.w.Header().Set("Connection", "close")
	}
	x.w.bodyRead = r.ContentLength == 0 || r.ProtoMajor != 1 // HTTP/2 resets the stream
	x.clientID = clientID(r.Header)
	if x.clientID != "" {
		x.w.Header()["X-Client-Request-Id"] = []string{x.clientID}
	}
	x.client = e.clientAddress(r)
	e.observe(x, r, path, found)
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		x.certificate = certs.Names(r.TLS.VerifiedChains[0][0])
	}
	defer e.finish(x, r, r.URL.Path)
	defer x.recoverPanic(e.config.Logger)
	r = withExchange(r, x)
	switch {
	case !found:
		x.fail(e.paths.notFound(r.URL))
	case path.handle != nil && path.allows(r.Method):
		path.handle(e, &x.w, r)
	case isUpgrade(r) && path.endpoint.protocol.WebSocket:
		x.fail(fault.New(fault.UpgradeRequired, fault.ReasonUpgradeRequired, "this server does not speak WebSocket; send the request as POST"))
	case !path.allows(r.Method):
		x.w.Header().Set("Allow", path.allow())
		x.fail(fault.New(fault.MethodNotAllowed, fault.ReasonMethod, "%s is not allowed on %s; allowed: %s", clip(r.Method, 16), path.name, path.allow()))
	default:
		x.endpoint.serve(path, x, r)
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
