package route

import (
	"context"
	"fmt"
	"time"
)

// shaved gives a context that ends a little ahead of the caller's deadline, if there
// is one, so that the caller still gets our own error that the time is up: a twentieth of
// what is left, within bounds. Each server on the way takes its own.
func shaved(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	left := time.Until(deadline)
	return context.WithDeadline(ctx, deadline.Add(-min(max(left/20, leastShave), mostShave)))
}

const (
	leastShave = 5 * time.Millisecond
	mostShave  = 250 * time.Millisecond
)

// bounded gives a context that ends after most; 0 is no bound.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, most)
}

// errShare ends a call that has not begun its answer in its target's share of the time.
var errShare = fmt.Errorf("route: the target's share of the time is over: %w", context.DeadlineExceeded)

// share gives the time by which one of the targets that are left must have begun its
// answer, so that each of them has the same share of what is left until the route's
// deadline. The last has all of it: then the time is zero, as without a deadline.
func share(deadline time.Time, targets int) time.Time {
	if deadline.IsZero() || targets <= 1 {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(deadline.Sub(now) / time.Duration(targets))
}
