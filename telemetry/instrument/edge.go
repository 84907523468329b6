package instrument

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The metrics of an edge.
var (
	httpServerDuration = Definition{Name: "http.server.request.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfEdge,
		Help: "Duration of HTTP requests, from the head to the end of the answer.", Labels: []string{"http.request.method", "url.scheme", "http.route", "http.response.status_code", "error.type", "network.protocol.version"}}
	httpServerActive = Definition{Name: "http.server.active_requests", Kind: UpDown, Unit: "{request}", Side: OfEdge,
		Help: "HTTP requests in flight.", Labels: []string{"http.request.method", "url.scheme"}}
	rpcClientDuration = Definition{Name: "rpc.client.call.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfEdge,
		Help: "Duration of the edge's calls of its cores.", Labels: []string{"rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"}}
	streamEvents = Definition{Name: "genway.stream.events", Kind: Counter, Unit: "{event}", Side: OfEdge,
		Help: "Events of streamed answers that were sent to callers, heartbeats aside. Events that an upstream sent together count one by one.", Labels: []string{"protocol"}}
	heartbeats = Definition{Name: "genway.stream.heartbeats", Kind: Counter, Unit: "{event}", Side: OfEdge,
		Help: "Heartbeats that were sent to callers of silent streams.", Labels: []string{"protocol"}}
	streamsCut = Definition{Name: "genway.streams.cut", Kind: Counter, Unit: "{stream}", Side: OfEdge,
		Help: "Streamed answers that ended before their end, by the side that cut them: caller, upstream or gateway.", Labels: []string{"protocol", "side"}}
)

// Edge records what an edge does. Its methods are safe for concurrent use; those of a nil
// Edge do nothing.
type Edge struct {
	duration, own, rpc                         metric.Float64Histogram
	active                                     metric.Int64UpDownCounter
	events, heartbeats, cut, shed, connections metric.Int64Counter

	https     *series[httpKey, recording]
	actives   *series[activeKey, adding]
	protocols *series[string, *edgeSeries]
	rpcs      *series[rpcKey, recording]
	words     *series[wordsKey, adding]
}

type httpKey struct {
	method, scheme, route string
	status                int
	failure, version      string
}

type activeKey struct{ method, scheme string }

type edgeSeries struct {
	own      recording
	protocol adding
}

// NewEdge makes the instruments of an edge. shared says that a core of the same process
// records refusals and connections.
func NewEdge(meter metric.Meter) (*Edge, error) {
	f := &factory{meter: meter}
	e := &Edge{
		duration: f.histogram(httpServerDuration), own: f.histogram(ownDuration), rpc: f.histogram(rpcClientDuration),
		active: f.upDown(httpServerActive),
		events: f.counter(streamEvents), heartbeats: f.counter(heartbeats), cut: f.counter(streamsCut),
		shed: f.counter(shedRequests), connections: f.counter(connectionsRefused),
	}
	text := attribute.String
	e.https = newSeries(func(k httpKey) recording {
		return records(text("http.request.method", k.method), text("url.scheme", k.scheme), text("http.route", k.route),
			attribute.Int("http.response.status_code", k.status), text("error.type", k.failure), text("network.protocol.version", k.version))
	})
	e.actives = newSeries(func(k activeKey) adding {
		return adds(text("http.request.method", k.method), text("url.scheme", k.scheme))
	})
	e.protocols = newSeries(func(p string) *edgeSeries {
		return &edgeSeries{own: records(text("component", "edge"), text("protocol", p)), protocol: adds(text("protocol", p))}
	})
	e.rpcs = newSeries(func(k rpcKey) recording { return records(rpcAttributes(k)...) })
	e.words = newSeries(func(k wordsKey) adding { return adds(text(k.first, k.a), text(k.second, k.b)) })
	return e, f.err
}

// HTTPRequest is a request that the edge has answered.
type HTTPRequest struct {
	// Method is the HTTP method, Scheme http or https, Route the pattern of the path (empty
	// for a path that the edge does not have), Version 1.0, 1.1 or 2.
	Method, Scheme, Route, Version string
	// Protocol is the protocol of the path.
	Protocol string
	Status   int
	// Kind is that of the failure; empty for none.
	Kind          string
	Duration, Own time.Duration
	// Events and Heartbeats are those of a stream; Cut is the side that cut it, empty for a
	// stream that ended whole.
	Events, Heartbeats int64
	Cut                string
	// Probe says that the request is no caller's, so that it has no time of its own.
	Probe bool
}

// Method gives a method as metrics have it: one of HTTP's own, or _OTHER, which the
// convention demands for all others since callers choose them.
func Method(method string) string {
	switch method {
	case "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE":
		return method
	}
	return "_OTHER"
}

// Begun counts a request in, with its method as Method gives it.
func (e *Edge) Begun(method, scheme string) {
	if e != nil {
		e.active.Add(context.Background(), 1, e.actives.of(activeKey{method, scheme})...)
	}
}

// Ended counts a request out and records it.
func (e *Edge) Ended(ctx context.Context, r HTTPRequest) {
	if e == nil {
		return
	}
	e.active.Add(ctx, -1, e.actives.of(activeKey{r.Method, r.Scheme})...)
	failure := r.Kind
	if failure == "" && r.Status >= 500 {
		failure = strconv.Itoa(r.Status)
	}
	e.duration.Record(ctx, r.Duration.Seconds(), e.https.of(httpKey{r.Method, r.Scheme, r.Route, r.Status, failure, r.Version})...)
	if r.Probe {
		return
	}
	to := e.protocols.of(r.Protocol)
	e.own.Record(ctx, r.Own.Seconds(), to.own...)
	if r.Events > 0 {
		e.events.Add(ctx, r.Events, to.protocol...)
	}
	if r.Heartbeats > 0 {
		e.heartbeats.Add(ctx, r.Heartbeats, to.protocol...)
	}
	if r.Cut != "" {
		e.cut.Add(ctx, 1, e.words.of(wordsKey{"protocol", r.Protocol, "side", r.Cut})...)
	}
}

// CalledRPC counts a call of a core.
func (e *Edge) CalledRPC(ctx context.Context, method, code string, took time.Duration) {
	if e != nil {
		e.rpc.Record(ctx, took.Seconds(), e.rpcs.of(rpcKey{method, code})...)
	}
}

// Shed counts requests that were refused for an overload.
func (e *Edge) Shed(signal, priority string, n int64) {
	if e != nil {
		e.shed.Add(context.Background(), n, e.words.of(wordsKey{"signal", signal, "priority", priority})...)
	}
}

// Connection counts a connection that a port refused or ended.
func (e *Edge) Connection(port, reason string) {
	if e != nil {
		e.connections.Add(context.Background(), 1, e.words.of(wordsKey{"port", port, "reason", reason})...)
	}
}
