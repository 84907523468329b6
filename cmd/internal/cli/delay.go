package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type drainingKey struct{}

// draining is the value that Delay stores in its context: when the shutdown delay begins, and how long it
// lasts.
type draining struct {
	begun <-chan struct{}
	lasts time.Duration
}

// Delay returns a context that ends a while after ctx does: the shutdown delay, in which a
// server says that it is not ready and still serves, so that balancers take it out before
// its listeners close. A second signal ends the delay; with Main, a third one ends the
// process. The channel of Draining is closed when the delay begins. The function releases
// the resources of Delay.
func Delay(ctx context.Context, delay time.Duration, log *slog.Logger) (context.Context, func()) {
	over, end := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), drainingKey{}, draining{ctx.Done(), max(delay, 0)}))
	if delay <= 0 {
		undo := context.AfterFunc(ctx, end)
		return over, func() { undo(); end() }
	}
	// The first signal, which ends ctx, comes here as well.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		defer end()
		select {
		case <-ctx.Done():
		case <-over.Done():
			return
		}
		log.Info("not ready any more; serving for the shutdown delay, which a second signal ends", "delay_seconds", delay.Seconds())
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for count := 0; count < 2; {
			select {
			case <-signals:
				count++
			case <-timer.C:
				return
			case <-over.Done():
				return
			}
		}
	}()
	return over, func() { end(); <-done }
}

// Draining returns a channel that is closed when the shutdown delay begins that ends ctx, a
// context of Delay's or of its children; nil for another context.
func Draining(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainingKey{}).(draining)
	return d.begun
}

// DelayOf returns the shutdown delay of a ctx of Delay; 0 for any other.
func DelayOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(drainingKey{}).(draining)
	return d.lasts
}
