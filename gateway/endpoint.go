package gateway

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	handlers "github.com/genway/genway/gen/gateway/genway/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
)

// endpoint is one protocol at the edge.
type endpoint struct {
	protocol *protocol.Protocol
	// keys and versions are the headers that have them.
	keys, versions names
	// passed are the headers that pass with bodies, as protocol.NamesHeader takes them.
	passed    []string
	marshaler *marshaler
	mux       *runtime.ServeMux
	bindings  bindings
	edge      *Edge
}

// newEndpoint builds a protocol's ServeMux with its marshaler and its error handlers. It turns
// off what the runtime takes from callers by default.
func newEndpoint(edge *Edge, p *protocol.Protocol) (*endpoint, error) {
	headers := edge.config.Headers
	e := &endpoint{
		protocol: p, edge: edge, marshaler: &marshaler{protocol: p.ID, text: p.Codec},
		keys: namesOf(headers.Keys[p.KeyGroup], p.Key.Headers), versions: namesOf(headers.Versions[p.Kind], p.Version.Headers),
	}
	for _, name := range headers.passedWith(p) {
		e.passed = append(e.passed, http.CanonicalHeaderKey(name))
	}
	e.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, e.marshaler),
		runtime.WithForwardResponseRewriter(bind),
		runtime.WithErrorHandler(handleError),
		runtime.WithStreamErrorHandler(handleStreamError),
		runtime.WithRoutingErrorHandler(handleRoutingError),
		runtime.WithIncomingHeaderMatcher(noHeader),
		runtime.WithOutgoingHeaderMatcher(noHeader),
		runtime.WithOutgoingTrailerMatcher(noHeader),
		runtime.WithMiddlewares(discoverable),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
		runtime.WithWriteContentLength(),
	)
	if err := handlers.RegisterGenerationHandlerClient(context.Background(), e.mux, edge.client); err != nil {
		return nil, fmt.Errorf("gateway: register %s: %w", p.Name, err)
	}
	e.bindings = bindingsOf(e.mux)
	return e, nil
}

// noHeader lets no header through. outgoing and writeAnswerHeaders name each header that is
// used. Any other would cost on the connection to the core, and could be smuggled.
func noHeader(string) (string, bool) { return "", false }

// serve runs one request through the endpoint: key, version, body, then the
// runtime.
func (e *endpoint) serve(p path, x *exchange, r *http.Request) {
	defer x.memory.Drop()
	x.model, x.operation = p.model, &operations[p.operation]
	if err := e.edge.takeKey(x, r); err != nil {
		x.fail(err)
		return
	}
	if err := e.edge.admit(r.Context(), x); err != nil {
		x.shed(r, e.edge.config.Gate, err)
		return
	}
	if err := e.checkVersion(r.Header); err != nil {
		x.fail(err)
		return
	}
	if has := x.operation.has; has != nil && !has(e.protocol.Codec) {
		x.fail(fault.New(fault.NotFound, fault.ReasonPathNotFound, "this protocol does not %s", x.operation.what))
		return
	}
	if x.operation.decode != nil {
		x.claim = e.edge.claimOf(x)
		defer x.claim.end()
		since := time.Now()
		body, err := e.edge.readBody(x, r) //nolint:contextcheck // the request has it
		x.record.awaited(since)
		if err == nil {
			err = e.decode(x, r, body)
		}
		if err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
	} else {
		// The runtime would read all of it, before the core has accepted the key and for as long as
		// the caller likes.
		r.Body = http.NoBody
	}
	e.forward(p, x, r)
}

// decode reads the body of a request into the message that the runtime sends.
func (e *endpoint) decode(x *exchange, r *http.Request, body []byte) (err error) {
	x.body, x.contentType = body, r.Header.Get("Content-Type")
	x.message, err = x.operation.decode(x, e.protocol.Codec, &genwayv1.WireMessage{Protocol: e.protocol.ID, Json: body, Headers: e.passedHeaders(r.Header)})
	r.Body, r.ContentLength = &decodedBody{x.message}, -1
	return err
}

// forward has the runtime make the call, and write its answer.
func (e *endpoint) forward(p path, x *exchange, r *http.Request) {
	// The runtime would make metadata of these. A caller must not influence the call to the
	// core by them.
	r.Header, r.Host, r.RemoteAddr = nil, "", ""
	if x.operation.query != nil {
		if err := x.operation.query(x, r); err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
	}
	if x.streamed || p.operation == protocol.Stream {
		events, err := e.protocol.Stream.Events(r.URL.RawQuery)
		if err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
		x.stream = newStreamState(x, !events)
	}
	if handler, params := e.bindings.find(p, x.streamed, r); handler != nil {
		handler(&x.w, r, params)
	} else {
		e.mux.ServeHTTP(&x.w, r)
	}
	// HTTP/2 may still be sending the answer, and a failure may repeat parts of it.
	reuse := x.fault == nil && r.ProtoMajor == 1
	if reuse {
		x.memory.Free()
	}
	if x.stream != nil {
		x.writeLateLosses()
		_ = x.w.flushGathered() // the server notices a broken connection
		x.stream.beats.end()
		x.stream.readers.Wait()
	}
	if reuse && x.lent != nil {
		x.lent.Release() // nothing of this request looks at its body from here on
	}
}

// keyFirst returns the failure of the caller's key, if it has one, in place of the failure of its
// body. Only the core knows keys, and a body that cannot be decoded never reaches it.
func (e *endpoint) keyFirst(x *exchange, r *http.Request, err error) error {
	switch faultOf(err).Kind {
	case fault.InvalidRequest, fault.TooLarge, fault.UnsupportedMediaType, fault.Timeout:
	default:
		return err
	}
	refused := e.edge.access(r.Context(), x)
	if refused == nil {
		return err
	}
	if kind := faultOf(refused).Kind; kind == fault.Unauthenticated || kind == fault.PermissionDenied {
		return refused
	}
	return err
}

// keyCheckTimeout bounds the check of a key.
const keyCheckTimeout = 5 * time.Second

// checkVersion demands the version header of a protocol that has one.
func (e *endpoint) checkVersion(h http.Header) error {
	shown := e.versions.shown
	if len(shown) == 0 {
		return nil
	}
	name, version := firstOf(h, e.versions.read)
	if version == "" {
		f := fault.New(fault.InvalidRequest, fault.ReasonMissingVersion, "%s: header is required", shown[0])
		if len(shown) > 1 {
			f.Message += " (" + strings.Join(shown[1:], ", ") + " is read as well)"
		}
		f.Param = shown[0]
		return f
	}
	oldest := e.protocol.Version.Oldest
	if _, err := time.Parse(time.DateOnly, version); err != nil || version < oldest {
		name = strings.ToLower(name)
		f := fault.New(fault.InvalidRequest, fault.ReasonInvalidVersion, "%s: %q is not a version this server speaks; send %s or a later date", name, clip(version, 32), oldest)
		f.Param = name
		return f
	}
	return nil
}

// clip shortens a text to that many bytes, and cuts no character in two.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// admit refuses a request before its body is read, when this process is overloaded, when the
// budget of bodies is nearly used up, or when the core refuses requests.
func (e *Edge) admit(ctx context.Context, x *exchange) error {
	gate := e.config.Gate
	x.priority = e.batch.priorityOf(x)
	if err := gate.Admit(ctx, x.priority); err != nil {
		return err
	}
	if x.priority == overload.Batch && e.bodies.crowded() {
		return gate.Refuse(overload.Bodies, x.priority)
	}
	if !e.throttle.admit(x.priority) {
		return gate.Refuse(overload.Core, x.priority)
	}
	return nil
}

// shed answers with a refusal. It keeps the connection open if the body is small, since a new
// connection costs both sides more than a refusal. With a larger body it closes it. The gate
// holds the answer back while refusals take too much of the processor.
func (x *exchange) shed(r *http.Request, gate *overload.Gate, err error) {
	x.refused = true
	if !x.w.bodyRead && readsBeforeKey(r) {
		x.w.readDeadline(unreadBody)
		if n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, freeBody)); n == r.ContentLength {
			x.w.bodyRead = true
			x.w.readDeadline(0)
		}
	}
	gate.Hold(r.Context(), x.start)
	x.fail(err)
}

// settle reports the result of a forwarded request to the throttle. The result says whether
// the edge or the core refused the request because of an overload. Such requests do not get
// a log line each.
func (e *Edge) settle(x *exchange) (refused bool) {
	if x.refused {
		return true
	}
	if x.fault == nil || x.fault.Kind != fault.Overloaded {
		return false
	}
	switch x.fault.Reason {
	case fault.ReasonUpstreamBusy:
		return true
	case fault.ReasonOverloaded:
		e.throttle.refuse(x.priority)
		return true
	}
	return false
}

// priorityKey is metadata in both directions. A core sends an edge a key's priority unless it
// is the default. An edge sends it back to a core in the same process once it knows it.
const priorityKey = "genway-priority"

// batchKeys remembers the keys with batch priority, whose requests are refused first. An edge
// has no keys and learns their priorities from the core's answers.
type batchKeys struct {
	count atomic.Int64 // of until; while it is 0 no key is looked up
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

const batchFor = time.Minute

func (b *batchKeys) priorityOf(x *exchange) overload.Priority {
	if b.count.Load() == 0 {
		return overload.Interactive
	}
	who := accessKeyOf(x)
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Now().Before(b.until[who]) {
		return overload.Batch
	}
	return overload.Interactive
}

// learn stores the priority that the core has sent for the key of a request.
func (b *batchKeys) learn(x *exchange, fields []transport.Field) {
	sent, _ := valueOf(fields, priorityKey)
	_, known := valueOf(fields, keyKey)
	isBatch := sent == overload.Batch.String()
	if !isBatch && (b.count.Load() == 0 || !known) {
		return
	}
	who := accessKeyOf(x)
	b.mu.Lock()
	defer b.mu.Unlock()
	if isBatch {
		if b.until == nil || len(b.until) >= maxAccepted {
			b.until = map[[sha256.Size]byte]time.Time{}
		}
		b.until[who] = time.Now().Add(batchFor)
	} else {
		delete(b.until, who)
	}
	b.count.Store(int64(len(b.until)))
}

// throttle is client-side adaptive throttling (Google, Site Reliability Engineering, chapter
// 21): an edge in front of an overloaded core refuses requests itself. It forwards twice as
// many requests as the core accepted in the last second, so that it notices when the core
// accepts more. With a smaller factor, bursts of requests lower the rate further and further.
// Each priority has its own account, since the core refuses batch requests first.
type throttle struct {
	accounts [2]account // by priority
}

// account has the counts of one priority, in a ring of tenths of a second.
type account struct {
	mu    sync.Mutex
	ring  [throttleSlots]counts
	total counts
	begin time.Time // of slot 0; slots go by the monotonic clock, which nobody sets back
	at    int64     // the slot of now
}

type counts struct{ requests, forwarded, refused int64 }

const (
	throttleSlots = 10
	throttleSlot  = time.Second / throttleSlots
	// leeway is the number of forwarded requests for each that the core accepted.
	leeway = 2
)

// admit counts a request and reports whether to forward it.
func (t *throttle) admit(p overload.Priority) bool {
	a := &t.accounts[p]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance(time.Now())
	now := &a.ring[a.at%throttleSlots]
	now.requests++
	a.total.requests++
	if a.total.refused > 0 {
		taken := float64(a.total.forwarded - a.total.refused)
		excess := (float64(a.total.requests) - leeway*taken) / float64(a.total.requests+1)
		if rand.Float64() < excess { //nolint:gosec // a share of the load, no secret
			return false
		}
	}
	now.forwarded++
	a.total.forwarded++
	return true
}

// refuse counts a request that was forwarded and that the core has refused.
func (t *throttle) refuse(p overload.Priority) {
	a := &t.accounts[p]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance(time.Now())
	a.ring[a.at%throttleSlots].refused++
	a.total.refused++
}

// advance drops counts that are older than a second.
func (a *account) advance(now time.Time) {
	if a.begin.IsZero() {
		a.begin = now
	}
	at := int64(now.Sub(a.begin) / throttleSlot)
	for n := 0; a.at < at && n < throttleSlots; n++ {
		a.at = max(a.at+1, at-throttleSlots+1)
		old := &a.ring[a.at%throttleSlots]
		a.total.requests -= old.requests
		a.total.forwarded -= old.forwarded
		a.total.refused -= old.refused
		*old = counts{}
	}
	a.at = max(a.at, at)
}
