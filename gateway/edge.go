package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway/cores"
	"github.com/genway/genway/gateway/openapi"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
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
	keys      edgev1.AccessClient
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
	sockets   socketKeys
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
		client:    &client{genwayv1.NewGenerationClient(coreConn{config.Core, remote}), remote, config.Heartbeat},
		keys:      edgev1.NewAccessClient(config.Core),
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
	var opened *socket
	defer func() { //nolint:contextcheck // the request is over once the connection is a WebSocket
		if opened != nil {
			opened.serve()
		}
	}()
	defer e.finish(x, r, r.URL.Path)
	defer x.recoverPanic(e.config.Logger)
	r = withExchange(r, x)
	switch {
	case !found:
		x.fail(e.paths.notFound(r.URL))
	case path.handle != nil && path.allows(r.Method):
		path.handle(e, &x.w, r)
	case isUpgrade(r) && path.speaks():
		opened = e.upgrade(path, x, r)
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

// path is one public path, with its endpoint and its methods.
type path struct {
	name string
	// endpoint is nil where the caller's headers say which protocol it speaks.
	endpoint *endpoint
	methods  []string
	// byMethod are the operations of a path that has several; nil for others.
	byMethod map[string]protocol.Operation
	// operation is what the path asks for; 0 for none of the core's.
	operation protocol.Operation
	// model is the one named by a path with a verb.
	model string
	// handle serves paths that the edge answers without the core.
	handle func(*Edge, *answerWriter, *http.Request)
}

func (p path) allows(method string) bool { return slices.Contains(p.methods, method) }
func (p path) allow() string             { return strings.Join(p.methods, ", ") }

// hasBody reports whether an operation reads a body.
func hasBody(op protocol.Operation) bool { return operations[op].decode != nil }

// paths are the public paths of an edge.
type paths struct {
	// fixed are those without a model in them. Streams that a body asks for have none.
	fixed map[string]path
	// models are the paths with a model in them, by the part before it.
	models []modelPaths
	// stored are the paths with the identifier of an answer that is stored.
	stored []storedPath
	// steps are the first steps, behind the version, of the paths, and firstSteps those that
	// only clients of one protocol send.
	steps      map[string]bool
	firstSteps map[string]*endpoint
}

// modelPaths are the paths with a model behind one prefix.
type modelPaths struct {
	prefix string
	// owner is the endpoint of the path without a verb; nil if the caller's headers decide.
	owner *endpoint
	// verbs are the paths with a verb, which follows the model behind a colon. verbOwner is
	// the endpoint of one of them. It answers verbs that do not exist.
	verbs     map[string]path
	verbOwner *endpoint
}

// storedPath is a path that has an identifier between prefix and suffix.
type storedPath struct {
	path

	prefix, suffix string
}

// newPaths returns the paths of the endpoints' protocols, those that several of them share,
// and the edge's own.
func newPaths(endpoints []*endpoint) paths {
	probe := []string{http.MethodGet, http.MethodHead}
	t := paths{steps: map[string]bool{}, firstSteps: map[string]*endpoint{}, fixed: map[string]path{
		livePath:     {methods: probe, handle: live},
		readyPath:    {methods: probe, handle: ready},
		healthPath:   {methods: probe, handle: ready},
		"/":          {methods: probe, handle: root},
		openapi.Path: {methods: probe, handle: document},
		"*":          {methods: []string{http.MethodOptions}, handle: options},
	}}
	for _, b := range protocol.Contract() {
		t.add(b, nil)
	}
	for _, e := range endpoints {
		for _, b := range e.protocol.Bindings {
			t.add(b, e)
		}
		for _, step := range e.protocol.FirstSteps {
			t.firstSteps[step] = e
		}
		if !e.protocol.NamesModelInPath() {
			t.steps[e.protocol.Step()] = true
		}
	}
	return t
}

// add adds a path. Those of the contract come first, without an endpoint.
func (t *paths) add(b protocol.Binding, e *endpoint) {
	p := path{name: b.Prefix, endpoint: e, methods: []string{b.Method}, operation: b.Operation}
	if b.Stored {
		t.addStored(b, p)
		return
	}
	if b.Model == "" {
		t.fixed[b.Prefix] = p
		return
	}
	at := slices.IndexFunc(t.models, func(m modelPaths) bool { return m.prefix == b.Prefix })
	if at < 0 {
		at = len(t.models)
		t.models = append(t.models, modelPaths{prefix: b.Prefix, verbs: map[string]path{}})
	}
	if m := &t.models[at]; b.Suffix == "" {
		m.owner = e
	} else {
		m.verbs[b.Suffix[1:]], m.verbOwner = p, e
	}
}

// addStored adds a method to a path that has an identifier.
func (t *paths) addStored(b protocol.Binding, p path) {
	for i := range t.stored {
		s := &t.stored[i]
		if s.prefix != b.Prefix || s.suffix != b.Suffix {
			continue
		}
		if s.endpoint = p.endpoint; s.byMethod[b.Method] == 0 {
			s.methods, s.byMethod[b.Method] = append(s.methods, b.Method), b.Operation
		}
		return
	}
	p.byMethod = map[string]protocol.Operation{b.Method: b.Operation}
	t.stored = append(t.stored, storedPath{p, b.Prefix, b.Suffix})
}

// ofStored returns the path with an identifier that a name is.
func (t *paths) ofStored(name string) (path, bool) {
	for i := range t.stored {
		s := &t.stored[i]
		rest, begins := strings.CutPrefix(name, s.prefix)
		if id, ends := strings.CutSuffix(rest, s.suffix); begins && ends && id != "" && !strings.ContainsAny(id, "/:") {
			return s.path, true
		}
	}
	return path{}, false
}

// below returns the paths with a model that begin like name, and the rest of it.
func (t *paths) below(name string) (m *modelPaths, rest string) {
	for i := range t.models {
		if rest, ok := strings.CutPrefix(name, t.models[i].prefix); ok {
			return &t.models[i], rest
		}
	}
	return nil, ""
}

// match finds the path of a request. If there is none, the endpoint of the result is the
// likeliest, whose protocol has the shape of the error.
func (e *Edge) match(r *http.Request) (path, bool) {
	name := r.URL.Path
	// The contract's strings cannot hold other bytes, and a slash that is spelled %2F is
	// part of a segment.
	if !utf8.ValidString(name) || e.paths.hidesSlash(r) {
		return path{name: name, endpoint: e.guess(r)}, false
	}
	if p, ok := e.paths.fixed[name]; ok {
		p.name = name
		if p.endpoint == nil {
			p.endpoint = e.callersEndpoint(r)
		}
		return p, true
	}
	if p, ok := e.paths.ofStored(name); ok {
		p.name, p.operation = name, p.byMethod[r.Method]
		return p, true
	}
	m, model := e.paths.below(name)
	if m == nil || model == "" || model[0] == ':' {
		return path{name: name, endpoint: e.guess(r)}, false
	}
	if i := strings.LastIndexByte(model, ':'); i > 0 && m.verbOwner != nil {
		p, ok := m.verbs[model[i+1:]]
		if ok {
			p.name, p.model = name, model[:i]
			return p, true
		}
		if r.Method == http.MethodPost {
			return path{name: name, endpoint: m.verbOwner}, false
		}
	}
	p := path{name: name, endpoint: m.owner, methods: []string{http.MethodGet}, operation: protocol.GetModel}
	if p.endpoint == nil {
		p.endpoint = e.callersEndpoint(r)
	}
	return p, true
}

// root answers the probe that some clients send before their first call.
func root(_ *Edge, w *answerWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"service":"genway","status":"ok"}` + "\n"))
}

// options answers OPTIONS of the whole server, which asks whether the server answers at all (RFC 9110, section 9.3.7).
func options(_ *Edge, w *answerWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// hidesSlash reports whether a slash before the model's name is spelled %2F.
func (t *paths) hidesSlash(r *http.Request) bool {
	raw := r.URL.RawPath
	at := strings.Index(strings.ToLower(raw), "%2f")
	if at < 0 {
		return false
	}
	m, _ := t.below(raw[:at])
	return m == nil
}

// The metadata with the identifier that a caller gave its request, and that in which the
// core reports whose key a call had.
const (
	clientIDKey = "genway-client-request-id"
	keyKey      = "genway-key"
)

// maxClientID bounds that identifier, in bytes.
const maxClientID = 128

// clientIDHeaders are where callers put it: the first is OpenAI's and Codex's.
var clientIDHeaders = []string{"X-Client-Request-Id", "X-Request-Id"}

// clientID returns what the caller calls its request. Logs and a header contain it, so
// one that is longer, or not of printable ASCII, is none.
func clientID(h http.Header) string {
	id := firstHeader(h, clientIDHeaders)
	if len(id) > maxClientID || !printable(id) {
		return ""
	}
	return id
}

// addressKey is the metadata that names the caller's address to the core, for keys that
// are good from some addresses only.
const addressKey = "genway-client"

// certificateKey is the metadata that names the certificate that the caller has shown, for
// keys that are good with some certificates only.
const certificateKey = "genway-client-certificate"

// clientAddress is where a request comes from, with or without a port: the connection's
// other end or, where that is a proxy that is trusted, the last address of
// X-Forwarded-For that is none.
func (e *Edge) clientAddress(r *http.Request) string {
	if len(e.config.TrustedProxies) == 0 {
		return r.RemoteAddr
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err == nil && !e.trustsProxy(at.Addr()) || err != nil && r.RemoteAddr != "@" && r.RemoteAddr != "" {
		return r.RemoteAddr
	}
	client := r.RemoteAddr
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client = address.String()
		if !e.trustsProxy(address) {
			break
		}
	}
	return client
}

func (e *Edge) trustsProxy(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// anyOrigin allows pages of every origin.
const anyOrigin = "*"

// preflightAge is how long a browser may remember a preflight, in seconds; Chromium
// remembers none for longer.
const preflightAge = 7200

// exposed returns the headers of an answer that a page may read. Not all browsers know the
// asterisk, which is for those that an upstream sends.
func exposed() []string {
	return slices.Concat([]string{
		"X-Request-Id", "Request-Id", "X-Genway-Request-Id", "X-Client-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry",
		lostHeader, costHeader, "X-Genway-Upstream", "X-Genway-Attempts", upstreamIDHeader,
	}, protocolHeaders(), []string{"*"})
}

// newCORS lets pages of those origins call the edge; nil for none. A page may send any
// header, since SDKs send a dozen each and new ones with every version, but its browser
// sends no credentials of its own: only the key identifies the caller.
func newCORS(origins []string) (*cors.Cors, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	if err := CheckOrigins(origins); err != nil {
		return nil, fmt.Errorf("gateway: CORS origin %w", err)
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: exposed(),
		MaxAge:         preflightAge,
	}), nil
}

// CheckOrigins returns the error of the first that is no Config.CORSOrigins.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		if !isOrigin(origin) {
			return fmt.Errorf("%q: expected * or an origin as browsers send it, SCHEME://HOST or SCHEME://HOST:PORT in lower case, without a path", origin)
		}
	}
	return nil
}

func isOrigin(text string) bool {
	if text == anyOrigin {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && u.Scheme+"://"+u.Host == text && text == strings.ToLower(text) && !strings.ContainsAny(text, "*, ")
}
