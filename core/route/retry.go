package route

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
)

// Each call earns a part of a retry, up to a few in stock: when all fail, retries add
// a tenth to the load and no more.
const (
	retriesEarned = 0.1
	retriesKept   = 10
)

// judged is the verdict of a call on its upstream. A failure that the request is to blame for
// never counts against the upstream, and a call whose caller left, or would not wait, gives no
// verdict. One that has not answered by the route's deadline, which ctx has, failed;
// unless it is a stream that had content.
func (t *turn) judged(ctx context.Context, err error) verdict {
	switch {
	case err == nil:
		return works
	case t.caller.Err() != nil, ctx.Err() != nil && t.streamed && t.record.AnswerBegun():
		return nothing
	}
	f := fault.From(err)
	if f.Reason == upstream.ReasonAnswersFull {
		return nothing
	}
	switch f.Kind { //nolint:exhaustive // all others are not its fault
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

// wait waits for a random time; false when the caller has left by then.
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
