// Package metrics counts what a core does and tells it in Prometheus' text format:
// requests by protocol and outcome, tokens, refusals by limit, calls of upstreams, and
// whether the shared store of limits answers. No label holds a key, an owner, a model, a
// prompt or anything else that callers choose, so that their number is bounded by the
// configuration.
//
// The format is written here: it is lines of text, and a client library for it would be
// two megabytes of the binary. The package must not import anything of ours but the
// ledger's types.
package metrics

import (
	"runtime"
	"sync/atomic"

	"github.com/genway/genway/core/ledger"
)

// Metrics are a core's. They are safe for concurrent use; the methods of a nil one do
// nothing.
type Metrics struct {
	requests, tokens, estimates, refusals, upstreams, cost, aside *family
	gone                                                          atomic.Bool
}

// New makes metrics, all 0.
func New() *Metrics {
	return &Metrics{
		requests:  newFamily("genway_requests_total", "Requests that were admitted, by what became of them.", 1, "protocol", "outcome", "kind"),
		tokens:    newFamily("genway_tokens_total", "Tokens, by the upstreams' figures, or by Genway's where genway_estimated_usage_total counts the request. Input includes cache_read, output includes thinking.", 1, "class"),
		estimates: newFamily("genway_estimated_usage_total", "Requests whose tokens Genway has counted: their upstream told none (estimated), or figures that cannot be true (rejected).", 1, "source"),
		refusals:  newFamily("genway_limit_refusals_total", "Requests that a limit did not admit, by whose limit it was and what it counts.", 1, "scope", "metric"),
		upstreams: newFamily("genway_upstream_calls_total", "Calls of upstreams, retries included, by the upstream that served the request or failed last.", 1, "upstream"),
		cost:      newFamily("genway_cost_dollars_total", "What requests cost, in dollars.", 1e9),
		aside:     newFamily("genway_ledger_entries_set_aside_total", "Entries of the ledger that the store refused. The log has them.", 1),
	}
}

// Settled counts a request that was admitted, at its end.
func (m *Metrics) Settled(protocol string, r ledger.Result) {
	if m == nil {
		return
	}
	m.requests.add(1, protocol, string(r.Outcome), r.Kind)
	if r.UsageSource != ledger.Told {
		m.estimates.add(1, string(r.UsageSource))
	}
	m.tokens.add(r.Usage.Input, "input")
	m.tokens.add(r.Usage.Output, "output")
	m.tokens.add(r.Usage.CacheRead, "cache_read")
	m.tokens.add(r.Usage.Thinking, "thinking")
	m.cost.add(r.Cost)
	m.upstreams.add(r.Attempts, r.Upstream)
}

// Refused counts a request that a limit did not admit.
func (m *Metrics) Refused(scope, metric string) {
	if m != nil {
		m.refusals.add(1, scope, metric)
	}
}

// SetAside counts an entry that the ledger's store refused.
func (m *Metrics) SetAside() {
	if m != nil {
		m.aside.add(1)
	}
}

// Gone notes whether the shared store of limits does not answer.
func (m *Metrics) Gone(gone bool) {
	if m != nil {
		m.gone.Store(gone)
	}
}

// AppendText writes all metrics in Prometheus' text format, version 0.0.4.
func (m *Metrics) AppendText(b []byte) ([]byte, error) {
	for _, f := range []*family{m.requests, m.tokens, m.estimates, m.refusals, m.upstreams, m.cost, m.aside} {
		b = f.append(b)
	}
	degraded := 0.0
	if m.gone.Load() {
		degraded = 1
	}
	b = appendGauge(b, "genway_limits_degraded", "1 while the shared store of limits does not answer, else 0.", degraded)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b = appendGauge(b, "go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	return appendGauge(b, "go_memstats_heap_alloc_bytes", "Bytes of the heap in use.", float64(memory.HeapAlloc)), nil
}
