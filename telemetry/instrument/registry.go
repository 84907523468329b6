package instrument

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// Registry holds the counters and histograms of a process; package telemetry gives them to the
// readers of the OpenTelemetry SDK. A recording is one or two atomic additions, because the instrument
// of each attribute set is resolved before it is recorded to; the SDK's own instruments check
// and look up the attribute set in each call (decision 39).
type Registry struct {
	start time.Time

	mu       sync.Mutex
	families []*family
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{start: time.Now()} }

// family is a metric with all its series.
type family struct {
	Definition

	mu         sync.Mutex
	counters   bySet[*counter]
	histograms bySet[*histogram]
}

// bySet are the series of a metric by their attribute sets, in the order of their first use.
type bySet[T any] struct {
	index map[attribute.Distinct]T
	all   []T
}

// family returns the metric of a definition. An edge and a core of one process share metrics.
func (r *Registry) family(d Definition) *family {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.families {
		if f.Name == d.Name {
			return f
		}
	}
	f := &family{Definition: d}
	r.families = append(r.families, f)
	return f
}

// counter returns the series of the attributes; nil, which counts nothing, for no metric.
func (f *family) counter(attributes ...attribute.KeyValue) *counter {
	if f == nil {
		return nil
	}
	set := setOf(attributes)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counters.of(set, func() *counter { return &counter{set: set} })
}

// histogram returns the series of the attributes; nil, which records nothing, for no metric.
func (f *family) histogram(attributes ...attribute.KeyValue) *histogram {
	if f == nil {
		return nil
	}
	set := setOf(attributes)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.histograms.of(set, func() *histogram { return newHistogram(set, f.Bounds) })
}

func (b *bySet[T]) of(set attribute.Set, newOne func() T) T {
	key := set.Equivalent()
	if one, ok := b.index[key]; ok {
		return one
	}
	one := newOne()
	if b.index == nil {
		b.index = map[attribute.Distinct]T{}
	}
	b.index[key] = one
	b.all = append(b.all, one)
	return one
}

// setOf returns the attribute set without empty texts: a label that does not apply is left out.
func setOf(attributes []attribute.KeyValue) attribute.Set {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return attribute.NewSet(kept...)
}
