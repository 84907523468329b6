package cores

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// pool is what the resolver and the balancer of one connection share. It reaches the balancer
// as an attribute of the resolver's state.
type pool struct {
	log   *slog.Logger
	start time.Time // times are durations since, of the monotonic clock
}

// poolKey is the attribute's key.
type poolKey struct{}

func newPool(log *slog.Logger) *pool {
	if log == nil {
		log = slog.Default()
	}
	return &pool{log: log, start: time.Now()}
}

func (p *pool) now() time.Duration { return time.Since(p.start) }

const (
	// ejectAfter is how many calls in a row fail before a core is ejected.
	ejectAfter = 5
	// firstEjection is how long the first ejection lasts; each one that follows it without a
	// successful call in between lasts twice as long, up to longestEjection.
	firstEjection   = 2 * time.Second
	longestEjection = 20 * time.Second
)

// core is one core as the balancer knows it.
type core struct {
	pool    *pool
	address string
	// inFlight counts its calls.
	inFlight atomic.Int64
	// failures counts the calls that failed in a row, and ejections how often it was ejected
	// since the last call that did not fail.
	failures, ejections atomic.Int64
	// ejectedUntil is a time of the pool's; 0 for a core that is not ejected.
	ejectedUntil atomic.Int64
}

// takesCalls reports whether calls may be sent to the core: it is not ejected, or its ejection
// is over and no call tries it out yet. The first call that does not fail ends the trial.
func (c *core) takesCalls() bool {
	until := c.ejectedUntil.Load()
	return until == 0 || int64(c.pool.now()) >= until && c.inFlight.Load() == 0
}

// verdict is what the end of a call says of its core.
type verdict int

const (
	unknown verdict = iota // the call ended for another reason
	good
	bad
)

// judge counts the end of a call.
func (c *core) judge(v verdict, cause error) {
	switch v {
	case unknown:
	case good:
		if c.failures.Load() != 0 {
			c.failures.Store(0)
		}
		if until := c.ejectedUntil.Load(); until != 0 && int64(c.pool.now()) >= until {
			c.reset()
			c.pool.log.Info("core takes calls again", "core", c.address)
		}
	case bad:
		until, now := c.ejectedUntil.Load(), int64(c.pool.now())
		if failures := c.failures.Add(1); failures < ejectAfter && until == 0 || now < until {
			return
		}
		lasts := min(firstEjection<<min(c.ejections.Load(), 10), longestEjection)
		if c.ejectedUntil.CompareAndSwap(until, now+int64(lasts)) {
			c.ejections.Add(1)
			c.pool.log.Warn("core is ejected: its calls fail", "core", c.address, "seconds", lasts.Seconds(), "cause", cause.Error())
		}
	}
}

// reset forgets what is known of a core, as a new connection to it begins.
func (c *core) reset() {
	c.failures.Store(0)
	c.ejections.Store(0)
	c.ejectedUntil.Store(0)
}
