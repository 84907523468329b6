package console

import (
	"sync"
	"time"
)

// Sign-ins that fail are bounded by where they come from: a burst, and then one in a while.
const (
	signInBurst = 10
	signInEvery = 6 * time.Second
	// boundPlaces is how many places are remembered; the memory is emptied beyond.
	boundPlaces = 4096
)

// bound admits a burst of attempts for each key, and one more for each interval that passes
// (GCRA, as of ITU-T I.371).
type bound[K comparable] struct {
	mu    sync.Mutex
	clock func() time.Time
	burst int
	every time.Duration
	due   map[K]time.Time
}

func newBound[K comparable](clock func() time.Time, burst int, every time.Duration) *bound[K] {
	return &bound[K]{clock: clock, burst: burst, every: every, due: map[K]time.Time{}}
}

// admits reports whether there may be an attempt, without counting one.
func (b *bound[K]) admits(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.due[key].Sub(b.clock()) <= time.Duration(b.burst-1)*b.every
}

// count counts an attempt.
func (b *bound[K]) count(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if len(b.due) >= boundPlaces {
		for k, due := range b.due {
			if due.Before(now) {
				delete(b.due, k)
			}
		}
		if len(b.due) >= boundPlaces {
			clear(b.due)
		}
	}
	due := b.due[key]
	if due.Before(now) {
		due = now
	}
	b.due[key] = due.Add(b.every)
}
