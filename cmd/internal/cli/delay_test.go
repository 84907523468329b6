package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The delay begins when the end is asked for, and the context ends behind it; without a
// delay both are at once.
func TestDelay(t *testing.T) {
	// The goroutine that receives signals must not be one of a bubble's.
	warm := make(chan os.Signal, 1)
	signal.Notify(warm, syscall.SIGTERM)
	defer signal.Stop(warm)
	for _, delay := range []time.Duration{0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			over, release := Delay(ctx, delay, slog.New(slog.DiscardHandler))
			defer release()
			child, cancel := context.WithCancel(over)
			defer cancel()
			select {
			case <-Draining(child):
				t.Error("draining ahead of the end")
			case <-over.Done():
				t.Error("over ahead of the end")
			default:
			}
			if got := DelayOf(child); got != delay {
				t.Errorf("the delay is %v, want %v", got, delay)
			}
			begun := time.Now()
			end()
			<-Draining(child)
			<-child.Done()
			if took := time.Since(begun); took != delay {
				t.Errorf("over after %v, want %v", took, delay)
			}
		})
	}
}

// A context of another kind is never draining.
func TestNoDelay(t *testing.T) {
	if Draining(t.Context()) != nil || DelayOf(t.Context()) != 0 {
		t.Error("draining")
	}
}
