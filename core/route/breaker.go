package route

import (
	"sync"
	"time"
)

// breaker leaves an upstream alone for a while after failures in a row, and then lets
// one call try whether it is back, while the others are still kept away.
type breaker struct {
	// after is how many failures in a row break it, rest for how long.
	after int
	rest  time.Duration

	mu       sync.Mutex
	failures int
	// until is when an upstream left alone is tried again; zero while it is not.
	until time.Time
	// trying says that a call is finding out.
	trying bool
}

// verdict is what a call says about its upstream.
type verdict int

const (
	// nothing is what a call says whose caller left before it was over.
	nothing verdict = iota
	works
	fails
)

// permit is leave to make a call: what comes of it goes back to the breaker.
type permit struct {
	breaker *breaker
	trial   bool
}

// enter asks for leave. Without it, wait is how long to stay away. A nil breaker
// gives it always.
func (b *breaker) enter() (p permit, wait time.Duration, ok bool) {
	if b == nil {
		return permit{}, 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch left := time.Until(b.until); {
	case b.until.IsZero():
		return permit{breaker: b}, 0, true
	case left > 0:
		return permit{}, left, false
	case b.trying:
		return permit{}, time.Second, false
	}
	b.trying = true
	return permit{breaker: b, trial: true}, 0, true
}

// done books how the call went. Calls that began before the upstream was left alone
// say nothing any more: the trial decides.
func (p permit) done(v verdict) {
	b := p.breaker
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.trial {
		b.trying = false
	} else if !b.until.IsZero() {
		return
	}
	switch v {
	case works:
		b.failures, b.until = 0, time.Time{}
	case fails:
		if b.failures++; p.trial || b.failures >= b.after {
			b.until = time.Now().Add(b.rest)
		}
	case nothing:
	}
}
