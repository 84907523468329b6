package instrument

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Metric is what a registry has of one metric: sums of a counter or an up-down counter,
// distributions of a histogram.
type Metric struct {
	Definition

	Sums          []Sum
	Distributions []Distribution
}

// Sum is one series of a counter since the registry was made, in steps if the definition has them.
type Sum struct {
	Set attribute.Set
	N   int64
}

// Distribution is one series of a histogram since the registry was made. Counts has one
// element for each bound of the definition, and one for larger values.
type Distribution struct {
	Set      attribute.Set
	Counts   []uint64
	Total    float64
	Examples []Example
}

// Example is a value of a sampled request.
type Example struct {
	Value   float64
	At      time.Time
	TraceID trace.TraceID
	SpanID  trace.SpanID
}

// Begun is when the registry was made.
func (r *Registry) Begun() time.Time { return r.start }

// Collect returns all metrics that something was recorded to.
func (r *Registry) Collect() []Metric {
	r.mu.Lock()
	families := slices.Clip(r.families)
	r.mu.Unlock()
	var all []Metric
	for _, f := range families {
		if m := f.collect(); len(m.Sums)+len(m.Distributions) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func (f *family) collect() Metric {
	m := Metric{Definition: f.Definition}
	f.mu.Lock()
	counters, histograms := f.counters.all, f.histograms.all
	f.mu.Unlock()
	for _, c := range counters {
		if c.seen.Load() {
			m.Sums = append(m.Sums, Sum{c.set, c.n.Load()})
		}
	}
	for _, h := range histograms {
		if d, seen := h.collect(); seen {
			m.Distributions = append(m.Distributions, d)
		}
	}
	return m
}

// collect reads the histogram, and reports whether it has any value.
func (h *histogram) collect() (d Distribution, seen bool) {
	d = Distribution{Set: h.set, Counts: make([]uint64, len(h.counts)), Total: math.Float64frombits(h.sum.Load())}
	for i := range h.counts {
		d.Counts[i] = h.counts[i].Load()
		seen = seen || d.Counts[i] > 0
		if e := h.examples[i].Load(); e != nil {
			e.collected.Store(true)
			d.Examples = append(d.Examples, e.Example)
		}
	}
	return d, seen
}
