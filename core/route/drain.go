package route

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
)

// Why a detached call is ended.
var (
	errDrained = errors.New("route: the time to read an answer on is over")
	errClosing = errors.New("route: the router is closing")
)

// drains are the detached calls of a router: those that go on without their callers.
type drains struct {
	mu      sync.Mutex
	closed  bool
	running map[*drain]struct{}
	wait    sync.WaitGroup
}

func (s *drains) begin(d *drain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		d.cancel(errClosing)
		return
	}
	if s.running == nil {
		s.running = map[*drain]struct{}{}
	}
	s.running[d] = struct{}{}
	s.wait.Add(1)
}

func (s *drains) end(d *drain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.running[d]; ok {
		delete(s.running, d)
		s.wait.Done()
	}
}

// close ends them all, and waits for them.
func (s *drains) close() {
	s.mu.Lock()
	s.closed = true
	for d := range s.running {
		d.cancel(errClosing)
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// drain detaches a call from its caller: when the caller leaves, the call goes on for at most a
// while, and the answer is read to its end, for the usage that the upstream reports (case K6). The call
// stays with its goroutine, which returns that much later. A nil drain is a call that
// ends with its caller.
type drain struct {
	owner  *drains
	most   time.Duration
	caller context.Context //nolint:containedctx // that of the call this is a part of
	cancel context.CancelCauseFunc
	unhook func() bool

	mu sync.Mutex
	// left says that the caller has left, delivered that the answer had been sent to its
	// end by then.
	left, delivered, over bool
	timer                 *time.Timer
}

// newDrain returns a call's context in place of the caller's: it has its values and its
// deadline, and outlives it by most when the caller leaves. A deadline that passes is
// no leaving. end must be called when the call is over.
func (s *drains) newDrain(caller context.Context, most time.Duration) (context.Context, *drain) {
	ctx := context.WithoutCancel(caller)
	release := func() {}
	if deadline, ok := caller.Deadline(); ok {
		ctx, release = context.WithDeadline(ctx, deadline)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	d := &drain{owner: s, most: most, caller: caller}
	d.cancel = func(cause error) {
		cancel(cause)
		release()
	}
	d.unhook = context.AfterFunc(caller, func() {
		if errors.Is(caller.Err(), context.Canceled) {
			d.leave()
		}
	})
	return ctx, d
}

// leave begins the time for which the call goes on without its caller.
func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left || d.over {
		return
	}
	d.left = true
	d.timer = time.AfterFunc(d.most, func() { d.cancel(errDrained) })
	d.owner.begin(d)
}

// sent takes what came of sending an event to the caller. When the transport reports that the
// caller has left, the call goes on. last says that the answer ends with the event.
func (d *drain) sent(err error, last bool) error {
	if d == nil {
		return err
	}
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.delivered = d.delivered || last && !d.left && d.caller.Err() == nil
		return nil
	}
	if _, ours := errors.AsType[*fault.Error](err); ours {
		return err
	}
	d.leave()
	return nil
}

// end returns what comes of the call, which is over: err, unless it went on without its
// caller.
func (d *drain) end(ctx context.Context, err error) error {
	if d == nil {
		return err
	}
	d.unhook()
	d.mu.Lock()
	d.over = true
	left := !d.delivered && (d.left || errors.Is(d.caller.Err(), context.Canceled))
	if d.timer != nil {
		d.timer.Stop()
	}
	d.mu.Unlock()
	d.cancel(nil)
	d.owner.end(d)
	if !left {
		return err
	}
	call.Of(ctx).CallerLeft = true
	if err == nil {
		return nil
	}
	f := upstream.Interrupted(ctx)
	f.Usage = fault.From(err).Usage
	return f
}
