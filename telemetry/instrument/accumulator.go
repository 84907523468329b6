package instrument

import (
	"math"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// counter is one series of a counter or an up-down counter. It is not exported before the
// first add, which may be of 0. A nil counter counts nothing.
type counter struct {
	set  attribute.Set
	n    atomic.Int64
	seen atomic.Bool
}

func (c *counter) add(n int64) {
	if c == nil {
		return
	}
	c.n.Add(n)
	if !c.seen.Load() {
		c.seen.Store(true)
	}
}

// histogram is one series of a histogram with explicit bounds. A nil histogram records nothing.
type histogram struct {
	set    attribute.Set
	bounds []float64
	// counts has one element for each bound, for values up to it, and one for larger values.
	counts   []atomic.Uint64
	sum      atomic.Uint64 // the bits of a float64
	examples []atomic.Pointer[example]
}

type example struct {
	Example

	// collected says that a reader has the example: the next one replaces it.
	collected atomic.Bool
}

func newHistogram(set attribute.Set, bounds []float64) *histogram {
	n := len(bounds) + 1
	return &histogram{set: set, bounds: bounds, counts: make([]atomic.Uint64, n), examples: make([]atomic.Pointer[example], n)}
}

// record records a value. span, if it is sampled, becomes the example of the value's bucket,
// unless the bucket has one that no reader has collected yet.
func (h *histogram) record(value float64, span trace.SpanContext) {
	if h == nil {
		return
	}
	i := 0
	for i < len(h.bounds) && value > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			break
		}
	}
	if !span.IsSampled() {
		return
	}
	if e := h.examples[i].Load(); e == nil || e.collected.Load() {
		h.examples[i].Store(&example{Example: Example{Value: value, At: time.Now(), TraceID: span.TraceID(), SpanID: span.SpanID()}})
	}
}
