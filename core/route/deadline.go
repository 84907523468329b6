package route

import (
	"context"
	"time"
)

// shaved gives a context that ends a little ahead of the caller's deadline, if there
// is one, so that the caller still hears from us that the time was up: a twentieth of
// what is left, within bounds. Each hop takes its own.
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
