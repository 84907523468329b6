package gateway

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/internal/frames"
)

// lingering lets the connections of a server bring one more request each after its listener was
// closed. net/http's Shutdown drops what arrives on a connection that it takes for idle: the
// request that was on its way, the first one of a new connection, one whose head has come in
// part, and the one after a stream that began before the end, which could not say that it is the last
// answer. nginx has keepalive_min_timeout for the same reason.
type lingering struct {
	// closing has each answer say that it is the last of its connection.
	closing atomic.Bool
	mu      sync.Mutex
	// open has the connections but those of HTTP/2, on which GOAWAY says which requests are served, with the
	// time since when each waits for a request; zero while it is being answered.
	open map[net.Conn]time.Time
	// changed has a value after open has changed while closing.
	changed chan struct{}
}

func newLingering() *lingering {
	return &lingering{open: map[net.Conn]time.Time{}, changed: make(chan struct{}, 1)}
}

// note records a state of a connection.
func (l *lingering) note(c net.Conn, state http.ConnState) {
	conn, ok := c.(*frames.Conn)
	http2 := ok && conn.HTTP2()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case state == http.StateNew, state == http.StateIdle && !http2:
		l.open[c] = time.Now()
	case state == http.StateActive && !http2:
		l.open[c] = time.Time{}
	default:
		delete(l.open, c)
	}
	if l.closing.Load() {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// wait waits until no connection is open, for most at the longest, and closes those that have
// waited for a request as long as each. The listener must be closed.
func (l *lingering) wait(each, most time.Duration) {
	l.closing.Store(true)
	l.mu.Lock()
	for c, since := range l.open {
		if !since.IsZero() {
			l.open[c] = time.Now()
		}
	}
	l.mu.Unlock()
	end, next := time.NewTimer(most), time.NewTimer(each)
	defer end.Stop()
	defer next.Stop()
	for l.any() {
		select {
		case <-l.changed:
		case <-next.C:
		case <-end.C:
			return
		}
		if first := l.expire(each); !first.IsZero() {
			next.Reset(time.Until(first))
		}
	}
}

// expire closes the connections that have waited so long, and returns when the next one has; the zero
// time if none waits.
func (l *lingering) expire(each time.Duration) (next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, since := range l.open {
		if since.IsZero() {
			continue
		}
		if until := since.Add(each); time.Now().Before(until) {
			if next.IsZero() || until.Before(next) {
				next = until
			}
			continue
		}
		delete(l.open, c)
		_ = c.Close() // its server's goroutine notes it
	}
	return next
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
