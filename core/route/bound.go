package route

import (
	"math"
	"sync"
	"time"
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

// limit gives the bound now.
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

// place is that of one call.
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
		case share > mostShare && b.reached > 0 && now.Sub(b.lowered) < recovery/4: // the last step was too small
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

// leave gives the place up, to the next in the queue if there is one.
func (p place) leave() {
	b := p.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	if b.queue.size() > 0 {
		b.admitWaiting(time.Now())
	}
}

// admitWaiting gives the places that are free to calls that wait.
func (b *bound) admitWaiting(now time.Time) {
	for b.underWay < b.limit(now) && b.queue.next(now) {
		b.take(now)
	}
}
