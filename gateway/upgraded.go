package gateway

import (
	"context"
	"sync"
)

// upgraded are the WebSockets of a server, of which net/http's Shutdown does not know.
type upgraded struct {
	// closing is closed when the server begins to end: what is idle is closed. When its time is over, cut calls what was given
	// to atCut, which returns what takes it back.
	closing chan struct{}
	cut     func()
	atCut   func(func()) func() bool
	mu      sync.Mutex
	closed  bool
	sockets sync.WaitGroup
}

type upgradedKey struct{}

func newUpgraded() *upgraded {
	gone, cut := context.WithCancel(context.Background())
	return &upgraded{closing: make(chan struct{}), cut: cut, atCut: func(do func()) func() bool { return context.AfterFunc(gone, do) }}
}

// upgradedOf returns the WebSockets of the server of a request.
func upgradedOf(ctx context.Context) *upgraded {
	if u, ok := ctx.Value(upgradedKey{}).(*upgraded); ok {
		return u
	}
	return &upgraded{atCut: func(func()) func() bool { return func() bool { return true } }} // which ends with nothing
}

// join adds one. It reports false once the server ends.
func (u *upgraded) join() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.sockets.Add(1)
	}
	return !u.closed
}

func (u *upgraded) leave() { u.sockets.Done() }

// close has all of them end, each after the request that it answers.
func (u *upgraded) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.closed = true
		close(u.closing)
	}
}

// wait waits for their ends, and closes their connections when ctx ends.
func (u *upgraded) wait(ctx context.Context) {
	defer context.AfterFunc(ctx, u.cut)()
	u.sockets.Wait()
}

// end closes all of them at once.
func (u *upgraded) end() {
	u.close()
	u.cut()
	u.sockets.Wait()
}
