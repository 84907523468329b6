package route

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/internal/overload"
)

// bound is how many calls an upstream, or a model of it, may have at once. It begins without
// one. When the upstream refuses a large share of the calls because it has too much to do
// (see refusals), the bound becomes a part of the calls under way; it then grows again, back to
// what it was in recovery and beyond, and after a while without another sign it is lifted
// (CUBIC, RFC 9438, whose growth goes by time: the growth of AIMD goes by answers, and these may
// take an hour).
//
// It is not failsafe-go's adaptive limiter (decision 25), which takes no refusal for a
// sign, ends a call's place and its measurement at the same moment, and refuses callers of
// a healthy upstream that come in a burst.
type bound struct {
	most int // of the configuration; 0 is none

	mu       sync.Mutex
	underWay int
	// reached is the bound before it was last lowered, at lowered; 0 is that it is lifted.
	reached  float64
	lowered  time.Time
	refusals refusals
	queue    queue
}

const (
	lowerTo  = 0.7             // of the calls under way
	recovery = 2 * time.Second // until the bound is what it was
	// liftAfter is how many recoveries later there is no bound.
	liftAfter = 5
)

// limit returns the bound now.
func (b *bound) limit(now time.Time) int {
	most := math.MaxInt
	if b.most > 0 {
		most = b.most
	}
	if b.reached == 0 {
		return most
	}
	x := now.Sub(b.lowered).Seconds() / recovery.Seconds()
	if x >= liftAfter {
		b.reached = 0
		return most
	}
	grown := b.reached * (1 + (1-lowerTo)*(x-1)*(x-1)*(x-1))
	return min(most, max(1, int(grown)))
}

// place is one call's.
type place struct {
	bound *bound
	begun time.Time
}

// take takes a place, which there must be.
func (b *bound) take(now time.Time) place {
	b.underWay++
	b.refusals.call(now, b.underWay)
	return place{b, now}
}

// refused notes that the upstream has refused the call because it has too much to do. It
// reports whether fewer calls do not help: the call was the only one, or all calls of late
// were refused.
func (p place) refused(now time.Time) (hopeless bool) {
	b := p.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	only := b.underWay <= 1
	if !p.begun.After(b.lowered) {
		return only || b.refusals.all // it says nothing new
	}
	share, most, over := b.refusals.refuse(now)
	if over && share > largeShare && now.After(b.refusals.blind) {
		limit := min(b.limit(now), most)
		switch {
		case b.reached > 0 && limit <= 1:
			b.reached = 0
			b.refusals.ignore(now)
			b.admitWaiting(now)
		case share > maxShare && b.reached > 0 && now.Sub(b.lowered) < recovery/4: // the last step was too small
			b.lower(now, lowerToLess*float64(limit))
		default:
			b.lower(now, lowerTo*float64(limit))
		}
	}
	return only || b.refusals.all
}

// worked notes that the call has ended without a refusal.
func (p place) worked() {
	p.bound.mu.Lock()
	defer p.bound.mu.Unlock()
	p.bound.refusals.work()
}

// lower makes the bound to, which is at least 1, and a part of what was reached.
func (b *bound) lower(now time.Time, to float64) {
	b.reached, b.lowered = max(1, to)/lowerTo, now
}

// calls is how many calls are under way.
func (b *bound) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.underWay
}

// leave frees the place, for the next in the queue if there is one.
func (p place) leave() {
	b := p.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	if b.queue.size() > 0 {
		b.admitWaiting(time.Now())
	}
}

// admitWaiting assigns the free places to calls that wait.
func (b *bound) admitWaiting(now time.Time) {
	for b.underWay < b.limit(now) && b.queue.next(now) {
		b.take(now)
	}
}

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

// next returns a place to the call whose turn it is; false for none.
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

// deployments are the adaptive bounds of an upstream's models: vendors and engines limit
// each model on its own, and refusals of one say nothing of the others. The zero value is
// good.
type deployments struct {
	mu     sync.RWMutex
	bounds map[string]*bound
	// crowd, if set, counts the queues that are not empty.
	crowd *atomic.Int64
}

// maxDeployments bounds how many models of an upstream are remembered. Callers may name
// any model where a route's pattern does.
const maxDeployments = 1024

// of returns the bound of a model. When there are too many models, those that have no calls
// and no bound are forgotten, and the newest share one while there is no room.
func (d *deployments) of(model string) *bound {
	d.mu.RLock()
	b := d.bounds[model]
	d.mu.RUnlock()
	if b != nil {
		return b
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.bounds) >= maxDeployments {
		for name, b := range d.bounds {
			if b.idle() {
				delete(d.bounds, name)
			}
		}
		if len(d.bounds) >= maxDeployments {
			model = ""
		}
	}
	if b := d.bounds[model]; b != nil {
		return b
	}
	if d.bounds == nil {
		d.bounds = map[string]*bound{}
	}
	b = &bound{}
	b.queue.crowd = d.crowd
	d.bounds[model] = b
	return b
}

// known returns the bound of a model that has been called; nil for none.
func (d *deployments) known(model string) *bound {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.bounds[model]
}

// report has queues counted in crowd while they are not empty.
func (d *deployments) report(crowd *atomic.Int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crowd != nil {
		return
	}
	d.crowd = crowd
	for _, b := range d.bounds {
		b.report(crowd)
	}
}
