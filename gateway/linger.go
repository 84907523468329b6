package gateway

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/gateway/framing"
)

// lingering lets the connections of a server bring one more request each after its listener was
// closed. net/http's Shutdown drops what arrives on a connection that it takes for idle: the
// request that was on its way, the first one of a new connection, and one whose head has come in
// part. nginx has keepalive_min_timeout for the same reason.
type lingering struct {
	// closing has each answer say that it is the last of its connection.
	closing atomic.Bool
	mu      sync.Mutex
	// open are the connections but for those of HTTP/2, on which GOAWAY says which requests
	// are served.
	open map[net.Conn]struct{}
	// fewer has a value after open has lost a connection.
	fewer chan struct{}
}

func newLingering() *lingering {
	return &lingering{open: map[net.Conn]struct{}{}, fewer: make(chan struct{}, 1)}
}

// note is told of the states of connections.
func (l *lingering) note(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.mu.Lock()
		l.open[c] = struct{}{}
		l.mu.Unlock()
		return
	case http.StateActive, http.StateIdle: // of each request: those of HTTP/1 take no lock
		if conn, ok := c.(*framing.Conn); !ok || !conn.HTTP2() {
			return
		}
	case http.StateHijacked, http.StateClosed:
	}
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
	select {
	case l.fewer <- struct{}{}:
	default:
	}
}

// wait waits until no connection is open, for that long at most. The listener must be closed.
func (l *lingering) wait(most time.Duration) {
	l.closing.Store(true)
	timer := time.NewTimer(most)
	defer timer.Stop()
	for l.any() {
		select {
		case <-l.fewer:
		case <-timer.C:
			return
		}
	}
}

func (l *lingering) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

// once is a listener that may be closed more than once.
type once struct {
	net.Listener
	end func() error
}

func newOnce(l net.Listener) once { return once{l, sync.OnceValue(l.Close)} }

func (o once) Close() error { return o.end() }
