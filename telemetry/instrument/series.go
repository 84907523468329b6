package instrument

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// series are the attribute sets of an instrument, made once for each combination of
// values. A lookup takes no lock and allocates nothing. Keys hold bounded values alone, so
// their number is bounded.
type series[K comparable, V any] struct {
	make func(K) V

	mu  sync.Mutex
	all atomic.Pointer[map[K]V]
}

func newSeries[K comparable, V any](one func(K) V) *series[K, V] {
	s := &series[K, V]{make: one}
	s.all.Store(&map[K]V{})
	return s
}

func (s *series[K, V]) of(key K) V {
	if v, ok := (*s.all.Load())[key]; ok {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *s.all.Load()
	if v, ok := all[key]; ok {
		return v
	}
	v := s.make(key)
	all = maps.Clone(all)
	all[key] = v
	s.all.Store(&all)
	return v
}

// adding and recording are the options of one attribute set.
type (
	adding    []metric.AddOption
	recording []metric.RecordOption
)

func set(attributes ...attribute.KeyValue) metric.MeasurementOption {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(kept...))
}

func adds(attributes ...attribute.KeyValue) adding       { return adding{set(attributes...)} }
func records(attributes ...attribute.KeyValue) recording { return recording{set(attributes...)} }
