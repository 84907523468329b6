package instrument

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

type settledKey struct{ protocol, route, upstream, outcome, kind string }

type settledSeries struct {
	count, cost, calls       *counter
	duration, own, admission *histogram
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
