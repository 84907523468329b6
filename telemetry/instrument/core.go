// Package instrument holds the metrics of a core and of an edge: their names, units,
// labels and buckets, and what records them. Each metric is a Definition; Definitions
// lists all of them, and docs/reference/telemetry.md is tested against that list.
//
// Names follow the OpenTelemetry conventions where there is one:
//
//   - GenAI: repository open-telemetry/semantic-conventions-genai,
//     docs/gen-ai/client-inference.md and gen-ai-token-metrics.md, as read on 2026-11-22
//     (status: development). The names of semantic-conventions v1.41.0 are available by
//     OTEL_SEMCONV_STABILITY_OPT_IN, see Names.
//   - HTTP and RPC: semantic-conventions v1.43.0, docs/http/http-metrics.md (stable) and
//     docs/rpc/rpc-metrics.md.
//
// All other metrics are genway.*. No label holds what a caller can choose: labels are
// routes, upstreams and models of the configuration, and closed lists of words.
//
// Counters and histograms are recorded to a Registry, which package telemetry connects to the
// readers of the SDK; gauges are the SDK's. It must not import an SDK, an exporter, or any
// package of core or gateway, so that both can import it.
package instrument

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
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
		Help: "Tokens by class, as the ledger has them, failed attempts included. Input includes cache_read, output includes thinking.", Labels: []string{"class"}}
	estimatedUsage = Definition{Name: "genway.estimated_usage", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Requests whose tokens Genway has counted: their upstream reported none (estimated), or figures that cannot be true (rejected).", Labels: []string{"source"}}
	costDollars = Definition{Name: "genway.cost_dollars", Kind: Counter, Steps: 1e9, Side: OfCore,
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
	reasoningMismatches = Definition{Name: "genway.reasoning_mismatches", Kind: Counter, Unit: "{mismatch}", Side: OfCore,
		Help: "Signatures and encrypted reasoning that a request brought back and that do not fit where it went, by why.", Labels: []string{"reason"}}
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
	captures = Definition{Name: "genway.captures", Kind: Counter, Unit: "{request}", Side: OfCore,
		Help: "Requests whose bodies were captured, by the result: kept, dropped where there was no room for them, or failed where the store did not take them.", Labels: []string{"result"}}
	reloads = Definition{Name: "genway.config_reloads", Kind: Counter, Unit: "{reload}", Side: OfCore,
		Help: "Times that the configuration was read again, by the result: ok, or bad where the old one stays.", Labels: []string{"result"}}

	httpClientDuration = Definition{Name: "http.client.request.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfCore,
		Help: "Time from a request to an upstream until the head of its answer.", Labels: []string{"http.request.method", "server.address", "server.port", "http.response.status_code", "error.type", "upstream"}}
	rpcServerDuration = Definition{Name: "rpc.server.call.duration", Kind: Histogram, Unit: "s", Bounds: httpBounds, Side: OfCore,
		Help: "Duration of calls of the gRPC contract, from edges and direct callers.", Labels: []string{"rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"}}
)

// Core records what a core does. Its methods are safe for concurrent use; the methods of a nil
// Core do nothing.
type Core struct {
	genAI *genAI

	aside                   *counter
	classes                 [5]*counter
	settled                 *series[settledKey, *settledSeries]
	actives                 *series[string, *counter]
	attempts                *series[attemptKey, *attemptSeries]
	limitRefusals, refusals *series[pair, *counter]
	shed, connections       *series[pair, *counter]
	estimated, losses       *series[string, *counter]
	storeErrors, reloads    *series[string, *counter]
	captures, mismatches    *series[string, *counter]
	https                   *series[HTTPCall, *histogram]
	rpcs                    *series[rpcKey, *histogram]
}

// pair is the values of two labels, words of closed lists.
type pair struct{ first, second string }

// NewCore makes the instruments of a core. Without a registry it returns nil, which records
// nothing.
func NewCore(r *Registry, names Names) *Core {
	if r == nil {
		return nil
	}
	text := attribute.String
	c := &Core{genAI: newGenAI(r, names), aside: r.family(setAside).counter()}
	for i, class := range [...]string{"input", "output", "cache_read", "cache_write", "thinking"} {
		c.classes[i] = r.family(tokensUsed).counter(text("class", class))
	}
	c.settled = newSeries(func(k settledKey) *settledSeries {
		return &settledSeries{
			count:     r.family(requests).counter(text("protocol", k.protocol), text("route", k.route), text("outcome", k.outcome), text("kind", k.kind)),
			cost:      r.family(costDollars).counter(text("route", k.route), text("upstream", k.upstream)),
			calls:     r.family(upstreamCalls).counter(text("upstream", k.upstream)),
			duration:  r.family(requestDuration).histogram(text("protocol", k.protocol), text("route", k.route), text("outcome", k.outcome)),
			own:       r.family(ownDuration).histogram(text("component", "core"), text("protocol", k.protocol)),
			admission: r.family(admissionDuration).histogram(text("protocol", k.protocol)),
		}
	})
	c.actives = r.words(activeCalls)
	c.attempts = newSeries(func(k attemptKey) *attemptSeries {
		of := func(d Definition) *counter {
			return r.family(d).counter(text("route", k.Route), text("upstream", k.Upstream), text("kind", k.kind))
		}
		s := &attemptSeries{count: of(attempts), fallbacks: of(fallbacks)}
		if k.Operation != CountTokens {
			s.duration, s.inference = c.genAI.ended(k.Inference, k.kind), c.genAI.of(k.Inference)
		}
		return s
	})
	c.limitRefusals, c.refusals, c.shed, c.connections = r.pairs(limitRefusals), r.pairs(refusals), r.pairs(shedRequests), r.pairs(connectionsRefused)
	c.estimated, c.losses, c.storeErrors, c.reloads = r.words(estimatedUsage), r.words(losses), r.words(storeErrors), r.words(reloads)
	c.captures, c.mismatches = r.words(captures), r.words(reasoningMismatches)
	c.https = newSeries(func(k HTTPCall) *histogram { return r.family(httpClientDuration).histogram(k.attributes()...) })
	c.rpcs = newSeries(func(k rpcKey) *histogram { return r.family(rpcServerDuration).histogram(rpcAttributes(k)...) })
	// A counter that has counted nothing is exported as 0, so that alerts see its first step.
	c.aside.add(0)
	for _, operation := range storeOperations {
		c.storeErrors.of(operation).add(0)
	}
	for _, result := range [...]string{"ok", "bad"} {
		c.reloads.of(result).add(0)
	}
	for _, result := range [...]string{"kept", "dropped", "failed"} {
		c.captures.of(result).add(0)
	}
	return c
}

// pairs are the series of a counter with two labels, words the series of a counter with one.
func (r *Registry) pairs(d Definition) *series[pair, *counter] {
	return newSeries(func(k pair) *counter {
		return r.family(d).counter(attribute.String(d.Labels[0], k.first), attribute.String(d.Labels[1], k.second))
	})
}

func (r *Registry) words(d Definition) *series[string, *counter] {
	return newSeries(func(k string) *counter { return r.family(d).counter(attribute.String(d.Labels[0], k)) })
}

// CountTokens is the operation of requests that ask for the number of their tokens. It is
// of ours: the GenAI conventions name none.
const CountTokens = "count_tokens"

// Lost counts a member that could not be carried.
func (c *Core) Lost(member string) {
	if c != nil {
		c.losses.of(member).add(1)
	}
}

// Mismatched counts seals that do not fit where a request went, by a reason of call.Record.Mismatches.
func (c *Core) Mismatched(reason string, n int64) {
	if c != nil {
		c.mismatches.of(reason).add(n)
	}
}

// RefusedByLimit counts a request that a limit did not admit.
func (c *Core) RefusedByLimit(scope, metric string) {
	if c != nil {
		c.limitRefusals.of(pair{scope, metric}).add(1)
	}
}

// Refused counts a call that failed before it was admitted.
func (c *Core) Refused(protocol, kind string) {
	if c != nil {
		c.refusals.of(pair{protocol, kind}).add(1)
	}
}

// Shed counts requests that were refused for an overload.
func (c *Core) Shed(signal, priority string, n int64) {
	if c != nil {
		c.shed.of(pair{signal, priority}).add(n)
	}
}

// SetAside counts an entry that the ledger's store refused.
func (c *Core) SetAside() {
	if c != nil {
		c.aside.add(1)
	}
}

// storeOperations are what StoreFailed counts: writing the ledger, looking a key up for a caller,
// reading and writing items of answers, and asking whether the store answers, for readiness.
var storeOperations = [...]string{"ledger", "keys", "items", "check"}

// StoreFailed counts an operation of the store that failed, by one of storeOperations.
func (c *Core) StoreFailed(operation string) {
	if c != nil {
		c.storeErrors.of(operation).add(1)
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
	c.reloads.of(result).add(1)
}

// Captured counts a request whose bodies were captured, by what has become of them.
func (c *Core) Captured(result string) {
	if c == nil {
		return
	}
	c.captures.of(result).add(1)
}

// Connection counts a connection that a port refused or ended.
func (c *Core) Connection(port, reason string) {
	if c != nil {
		c.connections.of(pair{port, reason}).add(1)
	}
}

type attemptKey struct {
	Inference
	kind string
}

// attemptSeries are what an attempt records; inference is nil for an operation without GenAI metrics.
type attemptSeries struct {
	count, fallbacks *counter
	duration         durations
	inference        *inferenceSeries
}

// Attempt is one attempt of a request at a target.
type Attempt struct {
	Inference
	// Kind is the kind of the failure; empty for success.
	Kind     string
	Duration time.Duration
	Counts   Counts
	// Followed says that another attempt followed because of this one's failure.
	Followed bool
}

// Chunks returns what records the chunks of a streamed answer that was asked for at begun.
func (c *Core) Chunks(i Inference, begun time.Time) Chunks {
	if c == nil {
		return Chunks{}
	}
	return Chunks{to: c.genAI.of(i), begun: begun}
}

// Attempted counts an attempt at its end.
func (c *Core) Attempted(span trace.SpanContext, a Attempt) {
	if c == nil {
		return
	}
	to := c.attempts.of(attemptKey{a.Inference, a.Kind})
	to.count.add(1)
	if a.Followed {
		to.fallbacks.add(1)
	}
	if to.inference == nil {
		return
	}
	to.duration.record(a.Duration, span)
	to.inference.used(span, a.Counts, a.Kind != "")
}

type settledKey struct{ protocol, route, upstream, outcome, kind string }

type settledSeries struct {
	count, cost, calls       *counter
	duration, own, admission *histogram
}

// Settlement is a request that was admitted, at its end.
type Settlement struct {
	// Protocol is the caller's, Route the pattern of the route, Upstream the upstream
	// that served it or failed last.
	Protocol, Route, Upstream string
	// Outcome and Kind are the ledger's.
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

// Active is a request that was counted in. The zero value is one that was not.
type Active struct{ in *counter }

// Ended counts it out.
func (a Active) Ended() { a.in.add(-1) }

// Begun counts a request in.
func (c *Core) Begun(protocol string) Active {
	if c == nil {
		return Active{}
	}
	a := Active{c.actives.of(protocol)}
	a.in.add(1)
	return a
}

// Settled counts a request that was admitted, at its end. span, if it is sampled, is an
// example of the histograms, here and below.
func (c *Core) Settled(span trace.SpanContext, s Settlement) {
	if c == nil {
		return
	}
	to := c.settled.of(settledKey{s.Protocol, s.Route, s.Upstream, s.Outcome, s.Kind})
	to.count.add(1)
	to.duration.record(s.Duration.Seconds(), span)
	to.own.record(s.Own.Seconds(), span)
	to.admission.record(s.Admission.Seconds(), span)
	if s.Calls > 0 {
		to.calls.add(s.Calls)
	}
	if s.Cost > 0 {
		to.cost.add(s.Cost)
	}
	if s.Source != "" {
		c.estimated.of(s.Source).add(1)
	}
	for i, n := range [...]int64{s.Input, s.Output, s.CacheRead, s.CacheWrite, s.Reasoning} {
		if n > 0 {
			c.classes[i].add(n)
		}
	}
}

// Names says which set of GenAI names is recorded.
type Names struct {
	// Newest is the set of semantic-conventions-genai.
	Newest bool
	// Older is the set of semantic-conventions v1.41.0: gen_ai.client.operation.duration,
	// gen_ai.client.operation.time_to_first_chunk, …time_per_output_chunk and
	// gen_ai.client.token.usage.
	Older bool
}

// OptInVariable is the environment variable that NamesOf reads. It is OpenTelemetry's, for
// conventions that change.
const OptInVariable = "OTEL_SEMCONV_STABILITY_OPT_IN"

// The values of the variable that mean something here.
const (
	olderAlone = "gen_ai_v1.41"
	olderToo   = "gen_ai_v1.41/dup"
)

// NamesOf reads the value of OptInVariable, a list separated by commas: gen_ai_v1.41 records
// the older set in place of the newest, gen_ai_v1.41/dup records both. Without either, the
// newest set is recorded. Other values are for other instrumentations and mean nothing here.
func NamesOf(value string) Names {
	wanted := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	switch {
	case slices.Contains(wanted, olderToo):
		return Names{Newest: true, Older: true}
	case slices.Contains(wanted, olderAlone):
		return Names{Older: true}
	}
	return Names{Newest: true}
}
