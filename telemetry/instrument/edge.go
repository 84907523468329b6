package instrument

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
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

// Edge records what an edge does. Its methods are safe for concurrent use; the methods of a nil
// Edge do nothing.
type Edge struct {
	https             *series[httpKey, *httpSeries]
	actives           *series[activeKey, *counter]
	rpcs              *series[rpcKey, *histogram]
	cut               *series[pair, *counter]
	shed, connections *series[pair, *counter]
}

type httpKey struct {
	method, scheme, route      string
	status                     int
	failure, version, protocol string
}

type activeKey struct{ method, scheme string }

type httpSeries struct {
	duration, own      *histogram
	events, heartbeats *counter
}

// NewEdge makes the instruments of an edge. Without a registry it returns nil, which records
// nothing. A core of the same process has the same registry.
func NewEdge(r *Registry) *Edge {
	if r == nil {
		return nil
	}
	text := attribute.String
	return &Edge{
		https: newSeries(func(k httpKey) *httpSeries {
			return &httpSeries{
				duration: r.family(httpServerDuration).histogram(text("http.request.method", k.method), text("url.scheme", k.scheme), text("http.route", k.route),
					attribute.Int("http.response.status_code", k.status), text("error.type", k.failure), text("network.protocol.version", k.version)),
				own:    r.family(ownDuration).histogram(text("component", "edge"), text("protocol", k.protocol)),
				events: r.family(streamEvents).counter(text("protocol", k.protocol)), heartbeats: r.family(heartbeats).counter(text("protocol", k.protocol)),
			}
		}),
		actives: newSeries(func(k activeKey) *counter {
			return r.family(httpServerActive).counter(text("http.request.method", k.method), text("url.scheme", k.scheme))
		}),
		rpcs: newSeries(func(k rpcKey) *histogram { return r.family(rpcClientDuration).histogram(rpcAttributes(k)...) }),
		cut:  r.pairs(streamsCut), shed: r.pairs(shedRequests), connections: r.pairs(connectionsRefused),
	}
}

// HTTPRequest is a request that the edge has answered.
type HTTPRequest struct {
	// Method is the HTTP method, Scheme http or https, Route the pattern of the path (empty
	// for a path that the edge does not have), Version 1.0, 1.1 or 2.
	Method, Scheme, Route, Version string
	// Protocol is the protocol of the path.
	Protocol string
	Status   int
	// Kind is the kind of the failure; empty for none.
	Kind          string
	Duration, Own time.Duration
	// Events and Heartbeats count a stream's; Cut is the side that cut it, empty for a
	// stream that ended whole.
	Events, Heartbeats int64
	Cut                string
	// Probe says that the request is no caller's, so that it has no time of its own.
	Probe bool
}

// Method returns a method as metrics have it: one of HTTP's own, or _OTHER, which the
// convention demands for all others since callers choose them.
func Method(method string) string {
	switch method {
	case "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE":
		return method
	}
	return "_OTHER"
}

// Begun counts a request in, with its method as Method returns it.
func (e *Edge) Begun(method, scheme string) Active {
	if e == nil {
		return Active{}
	}
	a := Active{e.actives.of(activeKey{method, scheme})}
	a.in.add(1)
	return a
}

// Ended records a request at its end. span, if it is sampled, is an example of the histograms.
func (e *Edge) Ended(span trace.SpanContext, r HTTPRequest) {
	if e == nil {
		return
	}
	failure := r.Kind
	if failure == "" && r.Status >= 500 {
		failure = strconv.Itoa(r.Status)
	}
	to := e.https.of(httpKey{r.Method, r.Scheme, r.Route, r.Status, failure, r.Version, r.Protocol})
	to.duration.record(r.Duration.Seconds(), span)
	if r.Probe {
		return
	}
	to.own.record(r.Own.Seconds(), span)
	if r.Events > 0 {
		to.events.add(r.Events)
	}
	if r.Heartbeats > 0 {
		to.heartbeats.add(r.Heartbeats)
	}
	if r.Cut != "" {
		e.cut.of(pair{r.Protocol, r.Cut}).add(1)
	}
}

// CalledRPC counts a call of a core.
func (e *Edge) CalledRPC(span trace.SpanContext, method, code string, took time.Duration) {
	if e != nil {
		e.rpcs.of(rpcKey{method, code}).record(took.Seconds(), span)
	}
}

// Shed counts requests that were refused for an overload.
func (e *Edge) Shed(signal, priority string, n int64) {
	if e != nil {
		e.shed.of(pair{signal, priority}).add(n)
	}
}

// Connection counts a connection that a port refused or ended.
func (e *Edge) Connection(port, reason string) {
	if e != nil {
		e.connections.of(pair{port, reason}).add(1)
	}
}
