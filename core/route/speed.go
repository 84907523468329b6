package route

import (
	"math"
	"sync"
	"time"
)

// speeds are the decayed times until answers of an upstream's models begin. The zero value is
// good.
type speeds struct {
	mu    sync.Mutex
	known map[speedOf]*speed
}

// speedOf distinguishes streams from unary answers, which begin when they are complete.
type speedOf struct {
	model    string
	streamed bool
}

// speed is a peak EWMA (Finagle's load balancer of that name): a slower answer counts at once,
// a quicker one as much as time has passed since the last. What is known of a target decays,
// so that one which was slow is tried again.
type speed struct {
	value    float64 // seconds
	at       time.Time
	underWay int
}

const (
	// speedDecay is the time in which what is known loses e-fold. Answers of models begin
	// within seconds: Finagle's 10 s for calls of milliseconds would forget between two calls
	// of a quiet route.
	speedDecay = 30 * time.Second
	// failedTime is what a call counts for that failed before its answer began: a target
	// that refuses at once must not seem the fastest.
	failedTime = 10 * time.Second
	// maxSpeeds bounds the models that are remembered for an upstream: callers may name any
	// where a route's pattern does.
	maxSpeeds = 1024
)

// now returns the decayed value.
func (s *speed) now(now time.Time) float64 {
	return s.value * math.Exp(-max(0, now.Sub(s.at).Seconds())/speedDecay.Seconds())
}

// cost is what another call costs: the time that its answer takes to begin, times the calls
// that are under way. A nil Guard, and a model that was never called, cost nothing.
func (g *Guard) cost(of speedOf, now time.Time) float64 {
	if g == nil {
		return 0
	}
	g.speeds.mu.Lock()
	defer g.speeds.mu.Unlock()
	s := g.speeds.known[of]
	if s == nil {
		return 0
	}
	// Calls in flight whose time is not known yet are as bad as one that failed, so that a
	// target without figures gets one call, not all.
	if s.at.IsZero() {
		return failedTime.Seconds() * float64(s.underWay)
	}
	return s.now(now) * float64(s.underWay+1)
}

// timing measures one call.
type timing struct {
	speeds *speeds
	of     *speed
	from   time.Time
	known  bool // what it took
}

// call begins to measure a call.
func (v *speeds) call(of speedOf, now time.Time) *timing {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.known[of]
	if s == nil {
		if v.known == nil || len(v.known) >= maxSpeeds {
			v.known = map[speedOf]*speed{}
		}
		s = &speed{}
		v.known[of] = s
	}
	s.underWay++
	return &timing{speeds: v, of: s, from: now}
}

// begun notes that the answer has begun.
func (t *timing) begun(now time.Time) {
	t.speeds.mu.Lock()
	defer t.speeds.mu.Unlock()
	t.known = true
	t.of.add(now.Sub(t.from), now)
}

// end notes that the call is over. One that did not begin its answer counts if it failed for
// reasons of the upstream's.
func (t *timing) end(now time.Time, failed bool) {
	t.speeds.mu.Lock()
	defer t.speeds.mu.Unlock()
	t.of.underWay--
	if failed && !t.known {
		t.of.add(max(failedTime, now.Sub(t.from)), now)
	}
}

// add takes a measured time.
func (s *speed) add(took time.Duration, at time.Time) {
	old := s.now(at)
	if seconds := took.Seconds(); seconds >= old || s.at.IsZero() {
		s.value = seconds
	} else {
		kept := math.Exp(-max(0, at.Sub(s.at).Seconds()) / speedDecay.Seconds())
		s.value = s.value*kept + seconds*(1-kept)
	}
	s.at = at
}
