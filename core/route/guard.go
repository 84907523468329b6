package route

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
)

// Limits are what protects an upstream, and the callers from it. The zero value has
// the defaults.
type Limits struct {
	// MaxConcurrent bounds the calls at once; 0 is no bound.
	MaxConcurrent int
	// Retries is how often a call that failed before its answer began is made again
	// at the same upstream; negative is never. Default 1.
	Retries int
	// BreakAfter is the failures in a row after which the upstream is left alone for
	// BreakFor; negative is never. Defaults 5 and 10 s.
	BreakAfter int
	BreakFor   time.Duration
	// Deadline is how long one call may take in all; 0 is DefaultDeadline.
	Deadline time.Duration
	// DrainFor is how long a call goes on whose caller left, to be settled on what the
	// upstream says it cost; 0 ends it at once.
	DrainFor time.Duration
	// Backoff is the middle of the random wait ahead of a retry. Default 200 ms.
	Backoff time.Duration
}

// DefaultDeadline is how long one call may take in all: longer than any answer, and
// shorter than for ever, which one of a byte now and then would take.
const DefaultDeadline = time.Hour

// Guard holds an upstream to its limits. Targets of one upstream share one.
type Guard struct {
	limits  Limits
	breaker *breaker      // nil: never breaks
	slots   chan struct{} // nil: no bound

	mu     sync.Mutex
	budget float64
}

// Each call earns a part of a retry, up to a few in stock: when all fail, retries add
// a tenth to the load and no more.
const (
	retriesEarned = 0.1
	retriesKept   = 10
)

// NewGuard makes a guard.
func NewGuard(limits Limits) *Guard {
	if limits.Retries == 0 {
		limits.Retries = 1
	}
	if limits.BreakAfter == 0 {
		limits.BreakAfter = 5
	}
	if limits.BreakFor == 0 {
		limits.BreakFor = 10 * time.Second
	}
	if limits.Backoff == 0 {
		limits.Backoff = 200 * time.Millisecond
	}
	if limits.Deadline == 0 {
		limits.Deadline = DefaultDeadline
	}
	g := &Guard{limits: limits, budget: retriesKept}
	if limits.BreakAfter > 0 {
		g.breaker = &breaker{after: limits.BreakAfter, rest: limits.BreakFor}
	}
	if limits.MaxConcurrent > 0 {
		g.slots = make(chan struct{}, limits.MaxConcurrent)
	}
	return g
}

// call is one call of an upstream. Its context may outlive the caller's: the drain
// then says so.
type call func(context.Context, *drain) error

// turn is what a target may do for a request.
type turn struct {
	// caller is the caller's context, without the deadline of the route.
	caller context.Context //nolint:containedctx // that of the call this is a part of
	note   *upstream.Note
	drains *drains
	// begin is when the answer must have begun: the target's share of the route's
	// deadline is over then. Zero is no bound but the context's.
	begin time.Time
	// streamed says that the answer is a stream, which has content when it has begun.
	streamed bool
}

// late reports whether the target's share of the time is over.
func (t *turn) late() bool { return !t.begin.IsZero() && !time.Now().Before(t.begin) }

// run makes a call, and makes it again while that may help: the call failed for
// reasons of the upstream's, its answer had not begun, and the budget and the target's
// share of the time last. A nil Guard makes it once.
func (g *Guard) run(ctx context.Context, t *turn, do call) error {
	if g == nil {
		return t.timed(ctx, nil, func(ctx context.Context) error { return do(ctx, nil) })
	}
	g.earn()
	for retry := 0; ; retry++ {
		err := g.once(ctx, t, do)
		if err == nil || t.note.Begun() || retry >= g.limits.Retries || !retryable(err) || !g.spend() || !g.wait(ctx) || t.late() {
			return err
		}
	}
}

// once makes a call within the limits and books how it went.
func (g *Guard) once(ctx context.Context, t *turn, do call) (err error) {
	if g.slots != nil {
		select {
		case g.slots <- struct{}{}:
			defer func() { <-g.slots }()
		default:
			return busy("UPSTREAM_BUSY", "as many requests as the upstream may have are under way; try again", time.Second)
		}
	}
	permit, wait, ok := g.breaker.enter()
	if !ok {
		return busy("UPSTREAM_BROKEN", "the upstream failed repeatedly and is left alone for a while", max(time.Second, wait))
	}
	// A call that panics is booked as well: the upstream would never be tried again.
	said := fails
	defer func() { permit.done(said) }()
	err = g.within(ctx, t, permit.trial, do)
	said = t.judged(ctx, err)
	return err
}

// within makes a call within its time.
func (g *Guard) within(ctx context.Context, t *turn, trying *trial, do call) (err error) {
	if g.limits.DrainFor <= 0 {
		inner, stop := bounded(ctx, g.limits.Deadline)
		defer stop()
		return t.timed(inner, trying, func(ctx context.Context) error { return do(ctx, nil) })
	}
	if ctx.Err() != nil {
		// Nothing is begun for a caller who is gone already.
		return upstream.Interrupted(ctx)
	}
	inner, d := t.drains.newDrain(ctx, g.limits.DrainFor)
	defer func() { err = d.end(ctx, err) }()
	inner, stop := bounded(inner, g.limits.Deadline)
	defer stop()
	return t.timed(inner, trying, func(ctx context.Context) error { return do(ctx, d) })
}

// timed makes a call whose answer must begin in the target's share of the time. With its
// beginning that bound is gone, and a trial is over.
func (t *turn) timed(ctx context.Context, trying *trial, do func(context.Context) error) error {
	if t.begin.IsZero() {
		var begun func()
		if trying != nil {
			begun = trying.prove
		}
		t.note.Attempt(begun)
		return do(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	share := time.AfterFunc(time.Until(t.begin), func() { end(errShare) })
	defer share.Stop()
	t.note.Attempt(func() {
		share.Stop()
		if trying != nil {
			trying.prove()
		}
	})
	return do(ctx)
}

func busy(reason, text string, wait time.Duration) error {
	e := fault.New(fault.Overloaded, reason, "%s", text)
	e.RetryAfter = wait
	return e
}

// judged is what a call says about its upstream: what the request is to blame for
// never counts against it, and a call whose caller went away, or would not wait, says
// nothing. One that has not answered by the route's deadline, which ctx has, failed;
// unless it is a stream that had content.
func (t *turn) judged(ctx context.Context, err error) verdict {
	switch {
	case err == nil:
		return works
	case t.caller.Err() != nil, ctx.Err() != nil && t.streamed && t.note.Begun():
		return nothing
	}
	switch fault.From(err).Kind { //nolint:exhaustive // all others are not its fault
	case fault.BadUpstream, fault.Unavailable, fault.Overloaded, fault.Timeout:
		return fails
	case fault.Cancelled:
		return nothing
	}
	return works
}

// retryable reports whether the same upstream may answer at once where it failed. One
// that says how long to wait, or took all the time there was, will not.
func retryable(err error) bool {
	f := fault.From(err)
	switch f.Kind { //nolint:exhaustive // all others would fail again
	case fault.BadUpstream, fault.Unavailable, fault.Overloaded:
		return f.RetryAfter == 0
	}
	return false
}

func (g *Guard) earn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget = min(retriesKept, g.budget+retriesEarned)
}

func (g *Guard) spend() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.budget < 1 {
		return false
	}
	g.budget--
	return true
}

// wait lets a random while pass; false when the caller is gone by then.
func (g *Guard) wait(ctx context.Context) bool {
	timer := time.NewTimer(g.limits.Backoff/2 + rand.N(g.limits.Backoff)) //nolint:gosec // a wait, no secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
