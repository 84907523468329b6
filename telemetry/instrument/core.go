package instrument

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The metrics of requests that a core counts.
var (
	requests = Definition{Name: "genway.requests", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Requests that were admitted, by what became of them.", Labels: []string{"protocol", "route", "outcome", "kind"}}
	requestDuration = Definition{Name: "genway.request.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfCore,
		Help: "Duration of admitted requests in the core, from the beginning to the end of the answer.", Labels: []string{"protocol", "route", "outcome"}}
	ownDuration = Definition{Name: "genway.own.duration", Kind: Histogram, Unit: "s", Bounds: ownBounds, Side: OfBoth,
		Help: "The gateway's own time of a request: all but waiting for the upstream, at the edge all but waiting for the core and for the caller's body.", Labels: []string{"component", "protocol"}}
	admissionDuration = Definition{Name: "genway.admission.duration", Kind: Histogram, Unit: "s", Bounds: ownBounds, Side: OfCore,
		Help: "Time that the admission of a request takes: its limits, and its entry in the ledger.", Labels: []string{"protocol"}}
	tokensUsed = Definition{Name: "genway.tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Tokens by class, as the ledger has them, those of failed attempts included. Input includes cache_read, output includes thinking.", Labels: []string{"class"}}
	estimatedUsage = Definition{Name: "genway.estimated_usage", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Requests whose tokens Genway has counted: their upstream reported none (estimated), or figures that cannot be true (rejected).", Labels: []string{"source"}}
	costDollars = Definition{Name: "genway.cost_dollars", Kind: Counter, Side: OfCore,
		Help: "What requests cost, in dollars.", Labels: []string{"route", "upstream"}}
	limitRefusals = Definition{Name: "genway.limit_refusals", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Requests that a limit did not admit, by whose limit it is and what it counts.", Labels: []string{"scope", "metric"}}
	refusals = Definition{Name: "genway.refusals", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Calls that failed before they were admitted, by the kind of failure.", Labels: []string{"protocol", "kind"}}
	attempts = Definition{Name: "genway.attempts", Kind: Counter, Unit: "{attempt}", Side: OfCore,
		Help: "Attempts at targets, by how they ended; an empty kind is success.", Labels: []string{"route", "upstream", "kind"}}
	fallbacks = Definition{Name: "genway.fallbacks", Kind: Counter, Unit: "{attempt}", Side: OfCore,
		Help: "Attempts that followed a failed one, by the target and kind of that failure.", Labels: []string{"route", "upstream", "kind"}}
	upstreamCalls = Definition{Name: "genway.upstream_calls", Kind: Counter, Unit: "{call}", Side: OfCore,
		Help: "Calls of upstreams, retries included, by the upstream that served the request or failed last.", Labels: []string{"upstream"}}
	losses = Definition{Name: "genway.losses", Kind: Counter, Unit: "{loss}", Side: OfCore,
		Help: "Members of requests and answers that could not be carried, by the member of the contract; other is any name that the contract does not have.", Labels: []string{"member"}}
	activeCalls = Definition{Name: "genway.requests.active", Kind: UpDown, Unit: "{request}", Side: OfCore,
		Help: "Requests in flight in the core.", Labels: []string{"protocol"}}
	shedRequests = Definition{Name: "genway.overload_refusals", Kind: Counter, Unit: "{request}", Side: OfBoth,
		Help: "Requests that were refused because there were more than could be served, by the signal and the priority of their key.", Labels: []string{"signal", "priority"}}
	connectionsRefused = Definition{Name: "genway.connections_refused", Kind: Counter, Unit: "{connection}", Side: OfBoth,
		Help: "Connections that a port refused or ended, and errors of HTTP/2 (http2_…), by the reason.", Labels: []string{"port", "reason"}}
	setAside = Definition{Name: "genway.ledger_entries_set_aside", Kind: Counter, Unit: "{entry}", Side: OfCore,
		Help: "Entries of the ledger that the store refused. The log has them."}
	storeErrors = Definition{Name: "genway.store_errors", Kind: Counter, Unit: "{error}", Side: OfCore,
		Help: "Operations of the store that failed, by what they are for.", Labels: []string{"operation"}}
	reloads = Definition{Name: "genway.config_reloads", Kind: Counter, Unit: "{reload}", Side: OfCore,
		Help: "Times that the configuration was read again, by the result: ok, or bad where the old one stays.", Labels: []string{"result"}}

	httpClientDuration = Definition{Name: "http.client.request.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfCore,
		Help: "Time from a request to an upstream until the head of its answer.", Labels: []string{"http.request.method", "server.address", "server.port", "http.response.status_code", "error.type", "upstream"}}
	rpcServerDuration = Definition{Name: "rpc.server.call.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfCore,
		Help: "Duration of calls of the gRPC contract, from edges and direct callers.", Labels: []string{"rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"}}
)

// Core records what a core does. Its methods are safe for concurrent use; those of a nil
// Core do nothing.
type Core struct {
	genAI *genAI

	requests, tokens, estimated, limitRefusals, refusals, attempts, fallbacks metric.Int64Counter
	calls, losses, shed, connections, aside, storeErrors, reloads             metric.Int64Counter
	cost                                                                      metric.Float64Counter
	duration, own, admission, httpClient, rpcServer                           metric.Float64Histogram
	active                                                                    metric.Int64UpDownCounter

	settled   *series[settledKey, *settledSeries]
	protocols *series[string, *protocolSeries]
	targets   *series[targetKey, adding]
	words     *series[wordsKey, adding]
	https     *series[HTTPCall, recording]
	rpcs      *series[rpcKey, recording]
	classes   [5]adding
}

type settledKey struct{ protocol, route, upstream, outcome, kind string }

type settledSeries struct {
	count, cost, calls adding
	duration           recording
}

type protocolSeries struct {
	own, admission recording
	active         adding
}

type targetKey struct{ route, upstream, kind string }

// wordsKey is one or two labels with words of closed lists.
type wordsKey struct{ first, a, second, b string }

type rpcKey struct{ method, code string }

// NewCore makes the instruments of a core.
func NewCore(meter metric.Meter, names Names) (*Core, error) {
	f := &factory{meter: meter}
	c := &Core{
		genAI:    newGenAI(f, names),
		requests: f.counter(requests), tokens: f.counter(tokensUsed), estimated: f.counter(estimatedUsage), limitRefusals: f.counter(limitRefusals),
		refusals: f.counter(refusals), attempts: f.counter(attempts), fallbacks: f.counter(fallbacks), calls: f.counter(upstreamCalls), losses: f.counter(losses),
		shed: f.counter(shedRequests), connections: f.counter(connectionsRefused), aside: f.counter(setAside), storeErrors: f.counter(storeErrors), reloads: f.counter(reloads),
		cost:     f.sum(costDollars),
		duration: f.histogram(requestDuration), own: f.histogram(ownDuration), admission: f.histogram(admissionDuration),
		httpClient: f.histogram(httpClientDuration), rpcServer: f.histogram(rpcServerDuration),
		active: f.upDown(activeCalls),
	}
	text := attribute.String
	c.settled = newSeries(func(k settledKey) *settledSeries {
		return &settledSeries{
			count:    adds(text("protocol", k.protocol), text("route", k.route), text("outcome", k.outcome), text("kind", k.kind)),
			cost:     adds(text("route", k.route), text("upstream", k.upstream)),
			calls:    adds(text("upstream", k.upstream)),
			duration: records(text("protocol", k.protocol), text("route", k.route), text("outcome", k.outcome)),
		}
	})
	c.protocols = newSeries(func(p string) *protocolSeries {
		return &protocolSeries{own: records(text("component", "core"), text("protocol", p)), admission: records(text("protocol", p)), active: adds(text("protocol", p))}
	})
	c.targets = newSeries(func(k targetKey) adding {
		return adds(text("route", k.route), text("upstream", k.upstream), text("kind", k.kind))
	})
	c.words = newSeries(func(k wordsKey) adding { return adds(text(k.first, k.a), text(k.second, k.b)) })
	c.https = newSeries(func(k HTTPCall) recording { return records(k.attributes()...) })
	c.rpcs = newSeries(func(k rpcKey) recording { return records(rpcAttributes(k)...) })
	for i, class := range [...]string{"input", "output", "cache_read", "cache_write", "thinking"} {
		c.classes[i] = adds(text("class", class))
	}
	// A counter that has counted nothing is told as 0, so that alerts see its first step.
	c.aside.Add(context.Background(), 0)
	return c, f.err
}

func rpcAttributes(k rpcKey) []attribute.KeyValue {
	failure := ""
	if k.code != "OK" {
		failure = k.code
	}
	return []attribute.KeyValue{
		attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", k.method),
		attribute.String("rpc.response.status_code", k.code), attribute.String("error.type", failure),
	}
}

// Settlement is a request that was admitted, at its end.
type Settlement struct {
	// Protocol is that of the caller, Route the pattern of the route, Upstream the upstream
	// that served it or failed last.
	Protocol, Route, Upstream string
	// Outcome and Kind are those of the ledger.
	Outcome, Kind string
	// Source is empty where the upstream reported the usage.
	Source                   string
	Duration, Own, Admission time.Duration
	// Calls is how often an upstream was called, retries included.
	Calls int64
	Counts
	// Cost is in nano-dollars.
	Cost int64
}

// Begun counts a request in, Ended counts it out.
func (c *Core) Begun(protocol string) {
	if c != nil {
		c.active.Add(context.Background(), 1, c.protocols.of(protocol).active...)
	}
}

// Ended counts a request out.
func (c *Core) Ended(protocol string) {
	if c != nil {
		c.active.Add(context.Background(), -1, c.protocols.of(protocol).active...)
	}
}

// Settled counts a request that was admitted, at its end. ctx has the span whose trace the
// request is an example of.
func (c *Core) Settled(ctx context.Context, s Settlement) {
	if c == nil {
		return
	}
	to, protocol := c.settled.of(settledKey{s.Protocol, s.Route, s.Upstream, s.Outcome, s.Kind}), c.protocols.of(s.Protocol)
	c.requests.Add(ctx, 1, to.count...)
	c.duration.Record(ctx, s.Duration.Seconds(), to.duration...)
	c.own.Record(ctx, s.Own.Seconds(), protocol.own...)
	c.admission.Record(ctx, s.Admission.Seconds(), protocol.admission...)
	if s.Calls > 0 {
		c.calls.Add(ctx, s.Calls, to.calls...)
	}
	if s.Cost > 0 {
		c.cost.Add(ctx, float64(s.Cost)/1e9, to.cost...)
	}
	if s.Source != "" {
		c.estimated.Add(ctx, 1, c.words.of(wordsKey{first: "source", a: s.Source})...)
	}
	for i, n := range [...]int64{s.Input, s.Output, s.CacheRead, s.CacheWrite, s.Reasoning} {
		if n > 0 {
			c.tokens.Add(ctx, n, c.classes[i]...)
		}
	}
}

// Attempt is one attempt of a request at a target.
type Attempt struct {
	Inference
	// Kind is that of the failure; empty for success.
	Kind     string
	Duration time.Duration
	Counts   Counts
	// Followed says that another attempt followed because of this one's failure.
	Followed bool
}

// Chunks gives what records the chunks of a streamed answer that was asked for at begun.
func (c *Core) Chunks(i Inference, begun time.Time) Chunks {
	if c == nil {
		return Chunks{}
	}
	return Chunks{genAI: c.genAI, to: c.genAI.series.of(i), begun: begun}
}

// Attempted counts an attempt at its end.
func (c *Core) Attempted(ctx context.Context, a Attempt) {
	if c == nil {
		return
	}
	to := c.targets.of(targetKey{a.Route, a.Upstream, a.Kind})
	c.attempts.Add(ctx, 1, to...)
	if a.Followed {
		c.fallbacks.Add(ctx, 1, to...)
	}
	if a.Operation == CountTokens { // the convention has no name for it, and it uses no tokens
		return
	}
	c.genAI.end(ctx, a.Inference, a.Kind, a.Duration)
	c.genAI.used(ctx, a.Inference, a.Counts, a.Kind != "")
}

// CountTokens is the operation of requests that ask for the number of their tokens. It is
// of ours: the GenAI conventions name none.
const CountTokens = "count_tokens"

// Lost counts a member that could not be carried.
func (c *Core) Lost(ctx context.Context, member string) {
	if c != nil {
		c.losses.Add(ctx, 1, c.words.of(wordsKey{first: "member", a: member})...)
	}
}

// RefusedByLimit counts a request that a limit did not admit.
func (c *Core) RefusedByLimit(scope, metric string) {
	if c != nil {
		c.limitRefusals.Add(context.Background(), 1, c.words.of(wordsKey{"scope", scope, "metric", metric})...)
	}
}

// Refused counts a call that failed before it was admitted.
func (c *Core) Refused(protocol, kind string) {
	if c != nil {
		c.refusals.Add(context.Background(), 1, c.words.of(wordsKey{"protocol", protocol, "kind", kind})...)
	}
}

// Shed counts requests that were refused for an overload.
func (c *Core) Shed(signal, priority string, n int64) {
	if c != nil {
		c.shed.Add(context.Background(), n, c.words.of(wordsKey{"signal", signal, "priority", priority})...)
	}
}

// SetAside counts an entry that the ledger's store refused.
func (c *Core) SetAside() {
	if c != nil {
		c.aside.Add(context.Background(), 1)
	}
}

// StoreFailed counts an operation of the store that failed.
func (c *Core) StoreFailed(operation string) {
	if c != nil {
		c.storeErrors.Add(context.Background(), 1, c.words.of(wordsKey{first: "operation", a: operation})...)
	}
}

// Reloaded counts a configuration that was read again.
func (c *Core) Reloaded(ok bool) {
	if c == nil {
		return
	}
	result := "bad"
	if ok {
		result = "ok"
	}
	c.reloads.Add(context.Background(), 1, c.words.of(wordsKey{first: "result", a: result})...)
}

// Connection counts a connection that a port refused or ended.
func (c *Core) Connection(port, reason string) {
	if c != nil {
		c.connections.Add(context.Background(), 1, c.words.of(wordsKey{"port", port, "reason", reason})...)
	}
}

// HTTPCall is what the labels of one call of an upstream over HTTP are made of.
type HTTPCall struct {
	// Method is the HTTP method, Address and Port the upstream's, Status that of the answer
	// (0 for none), Failure the word for why there is none.
	Method, Address string
	Port, Status    int
	Failure         string
	Upstream        string
}

func (k HTTPCall) attributes() []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("http.request.method", k.Method), attribute.String("server.address", k.Address),
		attribute.String("error.type", k.Failure), attribute.String("upstream", k.Upstream),
	}
	if k.Port > 0 {
		list = append(list, attribute.Int("server.port", k.Port))
	}
	if k.Status > 0 {
		list = append(list, attribute.Int("http.response.status_code", k.Status))
	}
	return list
}

// CalledHTTP counts one call of an upstream over HTTP.
func (c *Core) CalledHTTP(ctx context.Context, call HTTPCall, took time.Duration) {
	if c != nil {
		c.httpClient.Record(ctx, took.Seconds(), c.https.of(call)...)
	}
}

// ServedRPC counts one call of the gRPC contract. The method is genway.v1.Generation/NAME,
// code the name of the status.
func (c *Core) ServedRPC(ctx context.Context, method, code string, took time.Duration) {
	if c != nil {
		c.rpcServer.Record(ctx, took.Seconds(), c.rpcs.of(rpcKey{method, code})...)
	}
}
