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
	all atomic.Pointer[map[K]*resolved[K, V]]
	// last is what was looked up last. Requests that follow one another mostly have the same
	// values, whose strings are the same memory: to compare them costs a third of hashing them.
	last atomic.Pointer[resolved[K, V]]
}

// resolved is what one combination of values stands for.
type resolved[K comparable, V any] struct {
	key   K
	value V
}

func newSeries[K comparable, V any](one func(K) V) *series[K, V] {
	s := &series[K, V]{make: one}
	s.all.Store(&map[K]*resolved[K, V]{})
	return s
}

func (s *series[K, V]) of(key K) V {
	if last := s.last.Load(); last != nil && last.key == key {
		return last.value
	}
	r, ok := (*s.all.Load())[key]
	if !ok {
		r = s.add(key)
	}
	s.last.Store(r)
	return r.value
}

func (s *series[K, V]) add(key K) *resolved[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *s.all.Load()
	if r, ok := all[key]; ok {
		return r
	}
	r := &resolved[K, V]{key, s.make(key)}
	all = maps.Clone(all)
	all[key] = r
	s.all.Store(&all)
	return r
}
