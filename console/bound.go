package console

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Sign-ins that fail are bounded by where they come from: a burst, and then one in a while.
const (
	signInBurst = 10
	signInEvery = 6 * time.Second
	// boundPlaces is how many places are remembered; the memory is emptied beyond.
	boundPlaces = 4096
)

// bound admits a burst of attempts for each key, and one more for each interval that passes.
type bound[K comparable] struct {
	mu       sync.Mutex
	clock    func() time.Time
	burst    int
	every    time.Duration
	attempts map[K]*rate.Limiter
}

func newBound[K comparable](clock func() time.Time, burst int, every time.Duration) *bound[K] {
	return &bound[K]{clock: clock, burst: burst, every: every, attempts: map[K]*rate.Limiter{}}
}

// admits reports whether there may be an attempt, without counting one.
func (b *bound[K]) admits(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	made, known := b.attempts[key]
	return !known || made.TokensAt(b.clock()) >= 1
}

// count counts an attempt, also one that was not admitted: those that come at once are.
func (b *bound[K]) count(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if len(b.attempts) >= boundPlaces {
		maps.DeleteFunc(b.attempts, func(_ K, made *rate.Limiter) bool { return made.TokensAt(now) >= float64(b.burst) })
		if len(b.attempts) >= boundPlaces {
			clear(b.attempts)
		}
	}
	if b.attempts[key] == nil {
		b.attempts[key] = rate.NewLimiter(rate.Every(b.every), b.burst)
	}
	b.attempts[key].ReserveN(now, 1)
}
