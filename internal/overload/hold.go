package overload

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// refusalsPerProcessor is how many refusals a second are answered at once, for each
	// processor that the process may use. A refusal costs some 30 µs of it, most of that in
	// the kernel and in the server of the protocol.
	refusalsPerProcessor = 2000
	// holdBurst is how many refusals may come at once, as the time that they are good for.
	holdBurst = 100 * time.Millisecond
	// longestHold bounds the wait for the answer, and maxHeld how many wait at once: each
	// costs some 10 KiB beside its connection.
	longestHold = 500 * time.Millisecond
	maxHeld     = 8192
)

// Hold waits before a refusal is answered while there are so many that to answer all at
// once would take the processor from the requests that were admitted. A caller who gets a
// refusal sends the next request, so the wait, and the number of callers, bound what
// refusals cost. Up to a rate Hold returns at once. It returns early when ctx ends, when the processor has
// nothing else to do, and longestHold after the request came, which is since; it does not wait while
// memory is short.
func (g *Gate) Hold(ctx context.Context, since time.Time) {
	if g == nil {
		return
	}
	now := time.Now()
	wait := min(g.holdFor(int64(now.Sub(g.start))), longestHold-now.Sub(since))
	if wait <= 0 || g.pressed.Load()&(noBatch|noneAtAll) != 0 {
		return
	}
	defer g.held.Add(-1)
	if g.held.Add(1) > maxHeld {
		return
	}
	q, w := &g.queue, &waiter{since: now, turn: make(chan struct{})}
	q.mu.Lock()
	q.held.push(w)
	q.mu.Unlock()
	g.look()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.turn:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.gone {
		q.held.remove(w)
	}
}

// holdFor counts a refusal by GCRA, and returns how long its answer is to wait. Those that
// would wait for longer than the longest time are not counted: they come at the rate of their
// callers. They wait for half of it and more, each for another time: those that came at once
// would otherwise come again at once.
func (g *Gate) holdFor(now int64) time.Duration {
	for {
		due := g.answered.Load()
		wait := time.Duration(due-now) - holdBurst
		if wait > longestHold {
			return longestHold - rand.N(longestHold/2) //nolint:gosec // a wait, no secret
		}
		if g.answered.CompareAndSwap(due, max(due, now)+g.answerEvery) {
			return wait
		}
	}
}
