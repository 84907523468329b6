package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/frames"
)

// ServerConfig bounds an HTTP server. The zero value has the defaults.
type ServerConfig struct {
	// Grace is how long requests in flight may go on after the shutdown begins. Then they
	// get an error and end. Default 20 s; negative is not at all.
	Grace time.Duration
	// Linger is how long each connection of HTTP/1 may wait for a request after the shutdown has
	// begun and the listener is closed, counted from then or from the end of its last answer; all within
	// Grace. Answers that begin then are the last of their connections. Default none: what is on
	// its way at that moment is lost.
	Linger time.Duration
	// TLS, if set, encrypts all connections; HTTP/2 is chosen by ALPN, for which the
	// configuration names NextProtos. nil is cleartext.
	TLS *tls.Config
	// TrustedProxies are those whose connections carry the requests of many callers, so that
	// what these do on HTTP/2 is not held against the connection.
	TrustedProxies []netip.Prefix
	// Notices report connections that are ended for what came on them; nil reports none.
	Notices *connections.Notices
	Logger  *slog.Logger
}

// NextProtos are the protocols of connections with TLS, in the order of preference.
func NextProtos() []string { return []string{"h2", "http/1.1"} }

// maxHead bounds the request line and the header fields of a request, in bytes.
const maxHead = 64 << 10

// headerTimeout is how long a caller may take for a handshake and for the headers of a request, and idleTimeout how
// long a connection may wait for its next request.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// errShutdown is why a request ends when the grace is over.
var errShutdown = errors.New("gateway: shutting down")

// Serve answers requests on the listener until ctx ends, then finishes those in
// flight. It serves HTTP/1.1 and HTTP/2, in cleartext or with TLS. It returns nil after a
// clean end.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config ServerConfig) error {
	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	upgraded := newUpgraded() //nolint:contextcheck // it outlives ctx, as the requests do
	defer upgraded.end()
	requests = context.WithValue(requests, upgradedKey{}, upgraded)
	server := &http.Server{
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      stuckWrite, // for net/http's own answers: see answering
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHead,
		BaseContext:       func(net.Listener) context.Context { return requests },
		Protocols:         new(http.Protocols),
		HTTP2:             config.http2(),
		// The handler of net/http waits for a body without a bound, and nothing logs it.
		DisableGeneralOptionsHandler: true,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // after a handshake, too: see metered
	linger := newLingering()
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if conn, ok := c.(*frames.Conn); ok && state == http.StateActive && !conn.HTTP2() {
			// net/http waits for the rest of the body of a request that it answers itself: see answering.
			_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
		}
		linger.note(c, state)
	}
	server.ConnContext = withCaller
	if config.TLS != nil {
		handler = encrypted{handler}
	}
	server.Handler = answering{handler, linger}
	listener = newOnce(newMetered(listener, config))
	if config.Logger != nil {
		server.ErrorLog = slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	upgraded.close()
	grace := cmp.Or(config.Grace, 20*time.Second)
	// The last moments are for telling those who are cut.
	timer := time.AfterFunc(grace, func() { cut(errShutdown) })
	defer timer.Stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(grace, 0)+2*time.Second)
	defer cancel()
	var err error
	if config.Linger > 0 {
		err = listener.Close()
		served := <-failed // now linger knows all connections
		if errors.Is(served, net.ErrClosed) {
			served = http.ErrServerClosed
		}
		failed <- served
		linger.wait(config.Linger, grace)
	}
	if server.Shutdown(last) != nil {
		err = errors.Join(err, server.Close())
	}
	upgraded.wait(last)
	// Serve has nothing more to say than that it was closed.
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// answering is a handler that ends the deadlines of net/http's own answers, and says which answer is the last of
// its connection: each while the server closes, and of HTTP/1 each whose request another reader may see end
// elsewhere. net/http does not show its handler whether Content-Length was beside Transfer-Encoding, which it ignores then, or
// Transfer-Encoding in a request of HTTP/1.0, where it ignores that. So each such request is the last
// (RFC 9112, section 6.1, against request smuggling).
type answering struct {
	http.Handler
	linger *lingering
}

// ServeHTTP answers a request.
func (a answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control, last := http.NewResponseController(w), a.linger.closing.Load() // HTTP/2 sends GOAWAY
	if r.ProtoMajor == 1 {
		if caller, ok := r.Context().Value(callerKey{}).(*callerConn); ok {
			caller.answers(r)
		}
		_ = control.SetReadDeadline(time.Time{})
		last = last || r.ProtoMinor == 0 || len(r.TransferEncoding) > 0
	} else { // the deadline would end a stream that waits for its answer
		_ = control.SetWriteDeadline(time.Time{})
	}
	if last {
		w.Header().Set("Connection", "close")
	}
	a.Handler.ServeHTTP(w, r)
}

// shutdownOr returns a caller that is cut by the end of the process an error that says so.
func shutdownOr(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), errShutdown) {
		return err
	}
	return shuttingDown(err)
}

// shuttingDown is the failure of a request that the process does not serve to its end.
func shuttingDown(cause error) *fault.Error {
	f := fault.Wrap(cause, fault.Unavailable, fault.ReasonShuttingDown, "the server is shutting down; try again")
	f.RetryAfter = time.Second
	return f
}

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

// What a connection of HTTP/2 may take. net/http bounds the rest by these: handlers that run
// for streams which were reset, frames that wait to be written.
const (
	// maxStreams is how many requests may be open on one connection.
	maxStreams = 100
	// receiveBuffer is how much of the bodies of a connection may wait to be read, in bytes.
	receiveBuffer = 512 << 10
	// frameSize is the largest frame, in bytes: the least that may be, for each connection
	// keeps memory for one.
	frameSize = 16 << 10
	// silence is how long a connection may say nothing before it is asked whether it is
	// alive, and answerToPing how long it may take to say so.
	silence      = time.Minute
	answerToPing = 15 * time.Second
	// stuckWrite is how long a peer may take no byte of what is written.
	stuckWrite = time.Minute
)

// http2 bounds connections of HTTP/2, and counts their errors.
func (c ServerConfig) http2() *http.HTTP2Config {
	config := &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReadFrameSize:              frameSize,
		MaxReceiveBufferPerConnection: receiveBuffer,
		MaxReceiveBufferPerStream:     receiveBuffer,
		SendPingTimeout:               silence,
		PingTimeout:                   answerToPing,
		WriteByteTimeout:              stuckWrite,
	}
	if c.Notices != nil {
		config.CountError = func(kind string) { c.Notices.Count("http2_" + kind) }
	}
	return config
}
