package route

import (
	"sync"
	"time"
)

// breaker is the circuit breaker of an upstream. After failures in a row it is open: all
// calls are refused for a while. Then it is half-open: one trial call is let through, and
// the others are refused until the trial's answer has begun, or has failed. A trial that
// has no verdict keeps the others out for no longer than the breaker was open: then there is
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

// begun returns what to call when the answer of a trial begins; nil for all other calls.
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

// refusals finds out whether an upstream refuses calls because too many are under way. One
// refusal does not say so, nor does a small share of them: vendors refuse some requests for
// what is in them, or for a limit that fewer calls at once do not change. So what counts is
// the share of refusals among the calls of a window. When the share is large the bound is
// lowered, until it is not large any more. Where it stays large even for one call at a
// time, the number of calls is not the reason: then there is no bound, and
// refusals are ignored for a while (blind).
//
// Calls are counted when they begin, since an answer may take an hour, and refusals when
// they come. A call that began before the bound was last lowered is not counted.
type refusals struct {
	since          time.Time
	calls, refused int
	// most is the largest number of calls under way at once in the window. Their number at the
	// moment of a refusal may be far smaller: calls that began together end together.
	most int
	// worked says that a call of the window has ended without a refusal.
	worked bool
	// all says that the last window had nothing but refusals.
	all bool
	// blind is until when refusals change nothing, and pause how long it was the last time.
	blind time.Time
	pause time.Duration
}

const (
	// A window of refusals is at least so long, and at most, and has at least so many calls.
	shareTime, shareMost = 100 * time.Millisecond, time.Second
	shareCalls           = 10
	// largeShare of refusals lowers the bound. While most calls are refused soon after it
	// was lowered, it is lowered by more.
	largeShare, maxShare = 0.2, 0.5
	lowerToLess          = 0.5
	// allShare of refusals in a window without any other answer is all of them: some
	// calls of the window are still under way.
	allShare = 0.9
	// minBlind and maxBlind are for how long refusals are ignored that are not for the
	// number of calls: twice as long each time.
	minBlind, maxBlind = 10 * time.Second, 10 * time.Minute
)

// call counts a call that begins, with how many are under way then.
func (r *refusals) call(now time.Time, underWay int) {
	if r.calls == 0 || r.calls < shareCalls && now.Sub(r.since) > shareMost {
		r.begin(now)
	}
	r.calls++
	r.most = max(r.most, underWay)
}

// begin starts another window.
func (r *refusals) begin(now time.Time) {
	r.since, r.calls, r.refused, r.most, r.worked = now, 0, 0, 0, false
}

// refuse counts a refusal. When the window is over it returns the share of refusals, and the
// most calls that were under way at once.
func (r *refusals) refuse(now time.Time) (share float64, most int, over bool) {
	r.refused++
	if r.calls < shareCalls || now.Sub(r.since) < shareTime {
		return 0, 0, false
	}
	most = r.most
	share = min(1, float64(r.refused)/float64(r.calls))
	r.all = share >= allShare && !r.worked
	r.begin(now)
	return share, most, true
}

// work notes a call that has ended without a refusal.
func (r *refusals) work() { r.worked, r.all = true, false }

// ignore has refusals change nothing for a while.
func (r *refusals) ignore(now time.Time) {
	if now.Sub(r.blind) > maxBlind {
		r.pause = 0
	}
	r.pause = min(maxBlind, max(minBlind, 2*r.pause))
	r.blind = now.Add(r.pause)
}
