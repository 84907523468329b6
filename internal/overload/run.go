package overload

import (
	"context"
	"log/slog"
	"math"
	"time"
)

// How often the signals are read: often while requests come, seldom while none do.
const (
	busyTick = 20 * time.Millisecond
	idleTick = 100 * time.Millisecond
)

// sustained is for how much longer the delay must be too long than not before requests are
// refused, like the interval of CoDel (RFC 8289): a short burst, such as a thousand callers who
// connect at once, costs no requests.
const sustained = 200 * time.Millisecond

// Run reads the signals until ctx ends. There is one Run of a Gate.
func (g *Gate) Run(ctx context.Context) {
	if g == nil {
		return
	}
	c := controller{gate: g, last: time.Now(), reported: time.Now()}
	g.config.probe.delay()
	timer := time.NewTimer(busyTick)
	defer timer.Stop()
	defer func() {
		c.report(ctx)
		g.pressed.Store(0) // otherwise the overload would never end
		c.collector.running.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if now := time.Now(); c.step(now) {
			timer.Reset(busyTick)
		} else {
			timer.Reset(idleTick)
		}
		if time.Since(c.reported) >= time.Second {
			c.report(ctx)
			c.reported = time.Now()
		}
	}
}

// controller turns the signals into what the gate does.
type controller struct {
	gate *Gate
	last time.Time // of the step before

	// Of the scheduler latency: for how long it has been too long, and for how long it has been short.
	over, short time.Duration
	admitted    int64 // by the last step
	refused     int64
	usual       average // requests a second that were admitted
	rate        float64 // requests a second, while the gate is rated
	least       float64
	cut         time.Time // when the rate was last lowered
	tooHigh     float64   // the rate that it was lowered from; +Inf for none that counts any more
	untouched   time.Duration
	idle        time.Duration // for how long the process was idle while requests were refused

	collector collector

	reported time.Time
	shown    [signals][priorities]int64
}

// step reads the signals; it reports whether requests come or are admitted at a rate.
func (c *controller) step(now time.Time) bool {
	g := c.gate
	admitted, refused := g.admitted.Load(), c.refusals()
	passed := now.Sub(c.last)
	asked := admitted != c.admitted || refused != c.refused
	c.usual.add(float64(admitted-c.admitted), passed)
	if g.config.Delay > 0 {
		delay, busy := g.config.probe.delay()
		c.steer(now, passed, delay, busy, refused)
	}
	if g.config.Memory > 0 {
		c.weigh(now, g.config.probe.memory())
	}
	c.last, c.admitted, c.refused = now, admitted, refused
	return asked || g.pressed.Load()&rated != 0
}

// refusals are those for the scheduler latency.
func (c *controller) refusals() (n int64) {
	for p := range priorities {
		n += c.gate.refused[Processor][p].Load()
	}
	return n
}

// The rate falls by a tenth, or by a quarter while the delay is more than twice too long, once
// the delay has been too long for cutAfter: a garbage collection makes a shorter one. It
// falls again when the fall before has had its effect, which takes as long as the delay is.
//
// The rate rises quickly while the delay is short, up to nearly the rate that was too much, and
// slowly from there on; when the delay has been short for shortFor, requests have become cheaper and
// that rate counts no more: it rises quickly again. CUBIC does the same (RFC 9438). A delay is
// short that is less than a quarter of what is too long; between the two the rate stays.
const (
	cutBy, cutDeep     = 0.9, 0.75
	cutAfter           = 3 * busyTick
	riseFast, riseSlow = 4, 0.5 // of the rate, in a second
	nearTooHigh        = 0.95
	shortDelay         = 4
	shortFor           = 300 * time.Millisecond
	// idleFor is for how long a process must be idle while it refuses requests before the rate doubles.
	// It doubles again with each step until the process is busy. Such a rate is that of requests that
	// cost far more, images of 20 MB for example. A process that is less than half busy can serve twice
	// as many. Callers who stall and come back at once leave it idle for less than that.
	idleFor = 5 * busyTick
	// keepRated is how long nothing must have been refused before the gate is open again.
	keepRated = 500 * time.Millisecond
	// leastOf is the part of the rate at the beginning that it never falls below: below it
	// the delay is not for what was admitted.
	leastOf = 0.4
	// leastFalls is what is left of that bound with each cut that a far too long delay makes at it:
	// a burst of callers at the beginning can make it higher than what can be served.
	leastFalls = 0.95
	// leastPerProcessor is a rate below which no request is refused, whatever the rate was: a
	// process that has few requests and is busy all the same has other work (a flood that ends
	// with its connections, say), and to refuse them would not shorten it.
	leastPerProcessor = 50
	// leastBurst is how many requests may come at once.
	leastBurst = 16
)

// steer sets the rate by the delay since the last step.
func (c *controller) steer(now time.Time, passed, delay time.Duration, busy bool, refused int64) {
	g := c.gate
	tooLong := delay > g.config.Delay
	if g.pressed.Load()&rated == 0 {
		if !tooLong {
			c.over = max(0, c.over-passed)
			return
		}
		if c.over += passed; c.over < sustained {
			return
		}
		// An overload begins with a burst of callers who wait, so what was admitted in it says
		// little of what can be served.
		c.rate = max(g.config.least, c.usual.rate()*cutBy)
		c.least, c.tooHigh, c.cut, c.untouched = max(g.config.least, c.rate*leastOf), math.Inf(1), now, 0
		c.idle, c.short = 0, 0
		c.setRate()
		g.pressed.Or(rated)
		return
	}
	if tooLong {
		c.untouched, c.short, c.idle = 0, 0, 0
		if c.over += passed; c.over < cutAfter || now.Sub(c.cut) < max(cutAfter, delay) {
			return
		}
		by := cutBy
		if delay > 2*g.config.Delay {
			by = cutDeep
			if c.rate <= c.least {
				c.least = max(g.config.least, c.least*leastFalls)
			}
		}
		if c.tooHigh = max(c.rate, c.tooHigh*cutBy); math.IsInf(c.tooHigh, 1) {
			c.tooHigh = c.rate
		}
		c.rate, c.cut = max(c.least, c.rate*by), now
		c.setRate()
		return
	}
	c.over = 0
	if busy || refused == c.refused {
		c.idle = 0
	} else {
		c.idle += passed
	}
	switch {
	case c.idle >= idleFor:
		c.rate, c.tooHigh = 2*c.rate, math.Inf(1)
	case delay >= g.config.Delay/shortDelay:
		c.short = 0
	default:
		if c.short += passed; c.short >= shortFor {
			c.tooHigh = math.Inf(1)
		}
		rise := float64(riseSlow)
		if c.rate < nearTooHigh*c.tooHigh {
			rise = riseFast
		}
		c.rate *= 1 + rise*min(1, passed.Seconds())
	}
	c.setRate()
	if refused != c.refused {
		c.untouched = 0
	} else if c.untouched += passed; c.untouched >= keepRated {
		c.over = 0
		g.pressed.And(^rated)
	}
}

func (c *controller) setRate() { c.gate.every.Store(int64(float64(time.Second) / c.rate)) }

// The parts of the memory from which on batch requests and all requests are refused.
const (
	memoryForBatch = 0.80
	memoryForAll   = 0.92
)

func (c *controller) weigh(now time.Time, used int64) {
	g, most := c.gate, float64(c.gate.config.Memory)
	set := func(bit uint32, on bool) {
		if on {
			g.pressed.Or(bit)
		} else {
			g.pressed.And(^bit)
		}
	}
	short := float64(used) > most*memoryForBatch
	set(noBatch, short)
	set(noneAtAll, float64(used) > most*memoryForAll)
	if short {
		c.collector.whileShort(g.config.probe, now)
	}
}

// report logs the refusals since the last time, and calls OnRefused with them.
func (c *controller) report(ctx context.Context) {
	g := c.gate
	var attrs []slog.Attr
	total := int64(0)
	for signal := range signals {
		for p := range priorities {
			n := g.refused[signal][p].Load()
			since := n - c.shown[signal][p]
			if since == 0 {
				continue
			}
			c.shown[signal][p] = n
			total += since
			attrs = append(attrs, slog.Int64(signal.String()+"_"+p.String(), since))
			if g.config.OnRefused != nil {
				g.config.OnRefused(signal, p, since)
			}
		}
	}
	if total > 0 {
		g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "requests are refused: there are more than can be served", append([]slog.Attr{slog.Int64("refused", total)}, attrs...)...)
	}
}
