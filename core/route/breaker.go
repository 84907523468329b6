package route

import (
	"sync"
	"time"
)

// breaker is the circuit breaker of an upstream. After failures in a row it is open: all
// calls are refused for a while. Then it is half-open: one trial call is let through, and
// the others are refused until the trial's answer has begun, or has failed. A trial that
// gives no verdict keeps the others out for no longer than the breaker was open: then there is
// another trial.
//
// It is not failsafe-go's (decision 19), which has no calls without a verdict: a call whose caller
// has left would keep its trial forever, or close the breaker.
type breaker struct {
	// after is how many failures in a row open it, rest for how long.
	after int
	rest  time.Duration

	mu       sync.Mutex
	failures int
	// until is when an open breaker becomes half-open; zero while it is closed.
	until time.Time
	// trial is the newest trial that is under way; nil without one.
	trial *trial
}

// verdict is what a call says about its upstream.
type verdict int

const (
	// nothing is the verdict of a call whose caller left before it was over.
	nothing verdict = iota
	works
	fails
)

// trial is a call that finds out whether the upstream is back.
type trial struct {
	breaker *breaker
	begun   time.Time
	// proved says that its answer has begun, so that it is a call as any other.
	proved bool
}

// permit is leave to make a call: what comes of it goes back to the breaker.
type permit struct {
	breaker *breaker
	trial   *trial // nil for all other calls
}

// enter asks for leave. Without it, wait is how long to stay away. A nil breaker
// gives it always.
func (b *breaker) enter() (p permit, wait time.Duration, ok bool) {
	if b == nil {
		return permit{}, 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return permit{breaker: b}, 0, true
	}
	now := time.Now()
	if left := b.until.Sub(now); left > 0 {
		return permit{}, left, false
	}
	if b.trial != nil && now.Sub(b.trial.begun) < b.rest {
		return permit{}, time.Second, false
	}
	b.trial = &trial{breaker: b, begun: now}
	return permit{breaker: b, trial: b.trial}, 0, true
}

// begun gives what to call when the answer of a trial begins; nil for all other calls.
func (p permit) begun() func() {
	if p.trial == nil {
		return nil
	}
	return p.trial.prove
}

// prove closes the breaker: the trial's answer has begun. What becomes of it later counts
// as with any call.
func (t *trial) prove() {
	b := t.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !t.proved {
		t.proved = true
		b.close()
	}
}

func (b *breaker) close() { b.failures, b.until, b.trial = 0, time.Time{}, nil }

// done records how the call went. Calls that began before the breaker opened no longer count:
// the trial decides.
func (p permit) done(v verdict) {
	b := p.breaker
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	trying := p.trial != nil && !p.trial.proved
	if trying && b.trial == p.trial {
		b.trial = nil
	}
	open := !b.until.IsZero()
	if open && !trying {
		return
	}
	switch v {
	case works:
		b.close()
	case fails:
		if b.failures++; open || b.failures >= b.after {
			b.until = time.Now().Add(b.rest)
		}
	case nothing:
	}
}

// state is 0 while the breaker is closed, 1 while it is half-open and 2 while it is open.
func (b *breaker) state() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return 0
	case time.Now().Before(b.until):
		return 2
	}
	return 1
}
