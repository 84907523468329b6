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

// patient gives the context of a call, which ends when the answer has not begun in
// time, or after progress was called, when it goes on no more. done ends the call.
func (u *Upstream) patient(ctx context.Context) (patient context.Context, progress, done func()) {
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
// closed if nobody keeps it open.
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
		// Nothing of it is left in use, and nobody to tell.
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
