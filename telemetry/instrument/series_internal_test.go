package instrument

import (
	"sync"
	"testing"
)

// Goroutines that ask for keys in turns get each key's own value, which is made once.
func TestSeries(t *testing.T) {
	made := map[int]int{} // under the lock of the series
	s := newSeries(func(key int) *int {
		made[key]++
		return &key
	})
	var all sync.WaitGroup
	for from := range 8 {
		all.Go(func() {
			for i := range 1000 {
				key := (from + i) % 5
				if first, again := s.of(key), s.of(key); *first != key || first != again {
					t.Errorf("key %d has the value of another", key)
				}
			}
		})
	}
	all.Wait()
	for key := range 5 {
		if made[key] != 1 {
			t.Errorf("key %d was made %d times", key, made[key])
		}
	}
}

type benchKey struct{ a, b, c, d, e string }

func BenchmarkSeries(b *testing.B) {
	s := newSeries(func(benchKey) *counter { return new(counter) })
	same, other := benchKey{"chat", "genway-*", "openai", "ok", ""}, benchKey{"messages", "claude-*", "anthropic", "ok", ""}
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s.of(same).add(1)
		}
	})
	b.Run("in turns", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if i&1 == 0 {
				s.of(same).add(1)
			} else {
				s.of(other).add(1)
			}
		}
	})
}
