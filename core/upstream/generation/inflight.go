package generation

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	defaultFirstByte = 10 * time.Minute
	defaultIdle      = 5 * time.Minute
)

// errIdle is why a call is ended from this side.
var errIdle = errors.New("generation: the upstream makes no progress")

// withIdleTimeout returns the context of a call, which ends when the answer has not begun in
// time, or, after progress was called, when no more of it comes for a while. done ends the call.
func (u *Upstream) withIdleTimeout(ctx context.Context) (timed context.Context, progress, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(u.config.FirstByte, func() { cancel(errIdle) })
	return ctx, func() { timer.Reset(u.config.Idle) }, func() { timer.Stop(); cancel(nil) }
}

// inFlight counts calls, so that a connection which is closed outlives them: a
// configuration that replaces this one breaks none that began before.
type inFlight struct {
	mu     sync.Mutex
	calls  int
	closed bool
	close  func() error
}

// begin counts a call in. Those that come after the closing find the connection
// closed unless another call keeps it open.
func (f *inFlight) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
}

// end counts it out; the last one closes what is to be closed.
func (f *inFlight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls--
	if f.closed && f.calls == 0 {
		// No call uses it any more, so there is nowhere to report an error.
		_ = f.close()
	}
}

// shut closes now if there is no call, else after the last.
func (f *inFlight) shut() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.calls > 0 {
		return nil
	}
	return f.close()
}
