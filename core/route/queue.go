package route

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/genway/genway/internal/overload"
)

// queue is the calls that wait for a place at an upstream that is at its bound. A short
// one evens out bursts: first come, first served, and each may wait for patient. One that
// has not been empty for that long is a standing queue, which delays all calls and
// helps none: then each may wait only for hurried, and the newest is served first, since its
// caller is the most likely to be connected still (the controlled delay and adaptive LIFO of
// Facebook's "Fail at Scale", after RFC 8289). Batch calls are served when no other waits.
//
// Its owner's lock is held for all methods but wait.
type queue struct {
	waiting [2][]*waiter // by priority, in the order of their coming
	// busy is since when the queue has not been empty; zero while it is.
	busy time.Time
	// crowd, if set, counts the queues of a router that are not empty.
	crowd *atomic.Int64
}

type waiter struct {
	// turn receives whether there is a place.
	turn     chan struct{}
	priority overload.Priority
}

const (
	patient = 100 * time.Millisecond
	hurried = 5 * time.Millisecond
	// standingMost is how many may wait in a standing queue, batch calls aside: the others
	// are refused at once.
	standingMost = 16
	// queueMost is how many may wait at all.
	queueMost = 1024
)

func (q *queue) size() int { return len(q.waiting[0]) + len(q.waiting[1]) }

// standing reports whether the queue makes everybody late.
func (q *queue) standing(now time.Time) bool {
	return !q.busy.IsZero() && now.Sub(q.busy) >= patient
}

// full reports whether a call of that priority is refused without waiting.
func (q *queue) full(now time.Time, p overload.Priority) bool {
	if q.standing(now) {
		return p == overload.Batch || q.size() >= standingMost
	}
	return q.size() >= queueMost
}

// join puts a call at the end, and says for how long it may wait.
func (q *queue) join(now time.Time, p overload.Priority) (*waiter, time.Duration) {
	may := patient
	if q.standing(now) {
		may = hurried
	}
	if q.busy.IsZero() {
		q.busy = now
		if q.crowd != nil {
			q.crowd.Add(1)
		}
	}
	w := &waiter{turn: make(chan struct{}), priority: p}
	q.waiting[p] = append(q.waiting[p], w)
	return w, may
}

// next gives a place to the call whose turn it is; false for none.
func (q *queue) next(now time.Time) bool {
	for p, list := range q.waiting {
		if len(list) == 0 {
			continue
		}
		at := 0
		if q.standing(now) {
			at = len(list) - 1
		}
		w := list[at]
		q.waiting[p] = append(list[:at], list[at+1:]...)
		q.left()
		close(w.turn)
		return true
	}
	return false
}

// quit takes a call out whose caller left, or which has waited long enough; false when it
// has just got a place.
func (q *queue) quit(w *waiter) bool {
	for i, other := range q.waiting[w.priority] {
		if other == w {
			list := q.waiting[w.priority]
			q.waiting[w.priority] = append(list[:i], list[i+1:]...)
			q.left()
			return true
		}
	}
	return false
}

// left notes that a call has left the queue.
func (q *queue) left() {
	if q.size() == 0 {
		q.busy = time.Time{}
		if q.crowd != nil {
			q.crowd.Add(-1)
		}
		q.waiting = [2][]*waiter{}
	}
}

// enter takes a place for a call. At the bound the call waits if it may; without a place
// there is none, or the caller left.
func (b *bound) enter(ctx context.Context, p overload.Priority, mayWait bool) (_ place, ok bool) {
	now := time.Now()
	b.mu.Lock()
	if b.underWay < b.limit(now) && (b.queue.size() == 0 || !mayWait) {
		at := b.take(now)
		b.mu.Unlock()
		return at, true
	}
	if !mayWait || b.queue.full(now, p) {
		b.mu.Unlock()
		return place{}, false
	}
	w, may := b.queue.join(now, p)
	b.mu.Unlock()
	timer := time.NewTimer(may)
	defer timer.Stop()
	select {
	case <-w.turn:
		return place{b, time.Now()}, true
	case <-ctx.Done():
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Its turn may have come at the last moment.
	return place{b, time.Now()}, !b.queue.quit(w)
}

// report has the queue counted in crowd while it is not empty.
func (b *bound) report(crowd *atomic.Int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queue.crowd == nil {
		b.queue.crowd = crowd
	}
}

// idle reports whether the bound has no calls and nothing to remember.
func (b *bound) idle() bool {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.underWay == 0 && b.queue.size() == 0 && b.limit(now) == math.MaxInt && now.After(b.refusals.blind)
}

// full reports whether a call of that priority would find neither a place nor one in the
// queue. A nil bound is never full.
func (b *bound) full(p overload.Priority) bool {
	if b == nil {
		return false
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.underWay >= b.limit(now) && b.queue.full(now, p)
}
