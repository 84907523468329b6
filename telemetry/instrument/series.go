package instrument

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series are the counters and histograms of each combination of values, resolved once. A
// lookup takes no lock and allocates nothing. Keys hold only bounded values, so their number
// is bounded.
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
