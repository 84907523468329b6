package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dialed returns connections that send bodies whole and know whether the other side has
// closed them.
func dialed(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newConn(conn), nil
	}
}

// errRefused is the error of a write to a connection that was refused. No byte is sent.
var errRefused = errors.New("remote: the connection is not used any more")

// conn is a connection to an upstream. It writes a body that is in memory with one system call.
// net/http would copy it in pieces of 32 KiB, each with a system call of its own: a twentieth of the
// cost of a request of 1 MB.
type conn struct {
	net.Conn
	// raw is the socket; nil for other connections. look is the function for its Control, made once
	// since each call needs it. at serialises looks, and seen is the result of the last.
	raw  syscall.RawConn
	look func(fd uintptr)
	at   sync.Mutex
	seen state

	// closed is closed when the other side has closed, or we have.
	closed chan struct{}
	once   sync.Once
	// refused means that nothing more may be written.
	refused atomic.Bool
	// written counts the bytes that were written, including a write in progress: an answer
	// may arrive before the write has returned.
	written atomic.Int64

	// after is the kind of call that the connection served last. keep is the time in nanoseconds that
	// the upstream has announced to keep it; 0 if it has not.
	after kind
	keep  atomic.Int64
}

// state is what a look at a socket finds.
type state int

const (
	open state = iota
	closed
)

func newConn(c net.Conn) *conn {
	made := &conn{Conn: c, closed: make(chan struct{})}
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			made.raw = raw
			made.look = func(fd uintptr) { made.seen = lookAt(fd) }
		}
	}
	return made
}

// Read notes the end of what the other side sends.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.end()
	}
	return n, err
}

// Close closes the connection.
func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

func (c *conn) end() { c.once.Do(func() { close(c.closed) }) }

// dead reports whether the other side has closed the connection or has sent something unasked. It is
// called while no call uses the connection. Without a look at the socket it reports what net/http, which
// reads from idle connections, has noticed.
func (c *conn) dead(look bool) bool {
	select {
	case <-c.closed:
		return true
	default:
	}
	if !look || c.raw == nil {
		return false
	}
	c.at.Lock()
	defer c.at.Unlock()
	return c.raw.Control(c.look) != nil || c.seen == closed
}

// Write sends p, unless the connection is refused.
func (c *conn) Write(p []byte) (int, error) {
	if c.refused.Load() {
		return 0, errRefused
	}
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// ReadFrom sends all of r.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.refused.Load() {
		return 0, errRefused
	}
	c.written.Add(1) // until the number of bytes is known, assume that some were written
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(io.WriterTo); ok {
			n, err := body.WriteTo(atMost{c.Conn, limited.N})
			limited.N -= n
			c.written.Add(n)
			return n, err
		}
	}
	n, err := io.Copy(c.Conn, r)
	c.written.Add(n)
	return n, err
}

// atMost is a connection that takes at most bytes in one write.
type atMost struct {
	net.Conn
	bytes int64
}

func (c atMost) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.bytes {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:c.bytes])
	return n, cmp.Or(err, io.ErrShortWrite)
}

// An HTTP/1.1 upstream may close a kept connection at any moment, even while a request is on its
// way. Then the gateway cannot know whether the request was read, so it must not be sent again. This
// file avoids connections that are about to be closed, and finds out for as many requests as possible
// that not one byte of them was sent:
//
//   - A pooled connection that has been idle is examined before it is used. One that the other side has
//     closed is refused, and net/http takes another.
//   - A connection that was idle for almost as long as upstreams keep them is not used.
//   - Until an upstream has proved that it keeps connections, a connection is watched for a moment
//     after each answer, since upstreams that close connections do so right after the answer. After
//     one was closed so, the upstream's connections are not used within that moment.
//   - A request of which nothing was written before its connection turned out to be closed
//     is sent once more, over a new connection.
//
// HTTP/2 says which requests were not read (RFC 9113, 6.8), and net/http sends those again.

// roundTrip sends a request. If no byte of it was sent over the pooled connection, it is sent again
// over a new one. That is no retry in the sense of the configuration, since no call has failed.
func (u *Upstream) roundTrip(a *answer, req *http.Request) (resp *http.Response, err error) {
	sent := time.Now()
	defer func() { a.answered(req, resp, sent) }()
	resp, err = u.config.HTTP.RoundTrip(req)
	unsent := a.unsent(err)
	switch {
	case err == nil && !unsent:
		a.served(resp)
		return resp, nil
	case err == nil:
		// The upstream sent the reason for closing (a 408), and net/http took it for the answer.
		_ = resp.Body.Close()
		err = errRefused
	case a.pooled && hungUp(err):
		u.trusts[a.after].lose()
	}
	if !unsent || a.ctx.Err() != nil {
		return nil, err
	}
	body, failed := req.GetBody()
	if failed != nil {
		return nil, err
	}
	again := *req
	again.Body = body
	return u.fresh().RoundTrip(&again)
}

// fresh returns a transport that makes a new connection for each call.
func (u *Upstream) fresh() http.RoundTripper {
	u.freshOnce.Do(func() {
		u.freshHTTP = u.config.HTTP
		if t, ok := u.config.HTTP.(*http.Transport); ok {
			unpooled := t.Clone()
			unpooled.DisableKeepAlives = true
			u.freshHTTP = unpooled
		}
	})
	return u.freshHTTP
}

// gotConn is called with each connection over which the call is about to be sent.
func (a *answer) gotConn(info httptrace.GotConnInfo) {
	defer a.record.Connected()
	a.sent.Add(1)
	a.pooled, a.conn = info.Reused, connOf(info.Conn)
	c := a.conn
	if c == nil {
		return
	}
	a.after, c.after = c.after, a.kind
	if a.pooled && !a.usable(c, info) {
		c.refused.Store(true)
	}
	a.before = c.written.Load()
}

// usable reports whether a pooled connection may be used.
func (a *answer) usable(c *conn, info httptrace.GotConnInfo) bool {
	_, encrypted := info.Conn.(*tls.Conn)
	if info.IdleTime > maxIdle(time.Duration(c.keep.Load()), encrypted) {
		return false
	}
	trust := &a.upstream.trusts[a.after]
	if watch := settles - info.IdleTime; watch > 0 && !trust.has() {
		if trust.barred() {
			return false
		}
		timer := time.NewTimer(watch)
		select {
		case <-c.closed:
		case <-timer.C:
		case <-a.ctx.Done():
		}
		timer.Stop()
	}
	if c.dead(info.IdleTime >= fleeting || !trust.has()) {
		if info.IdleTime < young {
			trust.lose()
		}
		return false
	}
	return true
}

// unsent reports whether not one byte of the call was written to its pooled connection. The text is
// net/http's for a connection that was closed before the call began: over TLS, closing writes
// bytes too.
func (a *answer) unsent(err error) bool {
	if !a.pooled {
		return false
	}
	return a.conn != nil && (a.conn.refused.Load() || a.conn.written.Load() == a.before) || err != nil && err.Error() == "http: server closed idle connection"
}

// served notes that a pooled connection was usable, and how long the upstream keeps it from now on.
func (a *answer) served(resp *http.Response) {
	if a.conn == nil {
		return
	}
	if a.pooled {
		a.upstream.trusts[a.after].gain()
	}
	a.conn.keep.Store(int64(keepAlive(resp.Header)))
}

// connOf returns the connection below TLS; nil for one that was not made by dialed, and for HTTP/2.
func connOf(c net.Conn) *conn {
	if encrypted, ok := c.(*tls.Conn); ok {
		if encrypted.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		c = encrypted.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}

// hungUp reports whether the other side closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// kind is what a connection has served: engines that keep connections after unary answers
// close them after streams.
type kind int

const (
	aUnary kind = iota
	aStream

	kinds // how many there are
)

// trust records whether an upstream keeps its connections open after answers of one kind. The zero
// value has no observations.
type trust struct {
	// proofs counts the connections that it kept, since it last closed one.
	proofs atomic.Int32

	mu sync.Mutex
	// lost counts the connections in a row that it closed. It is not trusted before until, a time of
	// sinceStart, which is twice as far in the future with each of them.
	lost  int
	until atomic.Int64
}

const (
	// proven is the number of proofs from which on an upstream is trusted.
	proven = 3
	// settles is how long after an answer a connection is watched before it is used again, or is not
	// used, while there is no trust. young is the time after an answer within which a close counts
	// against the trust.
	settles, young = 50 * time.Millisecond, time.Second
	// fleeting is how long a connection of a trusted upstream is idle before it is looked at. The end of a
	// connection is on its way for about as long, when no look finds it either.
	fleeting = time.Millisecond
	// An upstream that closed a connection after an answer is not trusted for distrust at first, and
	// for maxDistrust at most.
	distrust, maxDistrust = 10 * time.Second, 10 * time.Minute
)

// started is the time at which the program started.
var started = time.Now()

// sinceStart returns the monotonic time since the start of the program in nanoseconds. It begins at
// twice maxDistrust, so that an until of 0 is long past.
func sinceStart() int64 { return int64(time.Since(started) + 2*maxDistrust) }

// has reports whether the upstream is trusted to keep connections.
func (t *trust) has() bool { return t.proofs.Load() >= proven }

// barred reports whether it has lately closed one.
func (t *trust) barred() bool { return t.until.Load() > sinceStart() }

// gain notes that a connection was kept.
func (t *trust) gain() {
	if !t.has() && !t.barred() { // mostly nothing is written, which other processors would have to read again
		t.proofs.Add(1)
	}
}

// lose notes that a connection was not kept.
func (t *trust) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.proofs.Store(0)
	if t.barred() {
		return
	}
	now := sinceStart()
	if now-t.until.Load() > int64(maxDistrust) {
		t.lost = 0
	}
	t.until.Store(now + int64(min(distrust<<min(t.lost, 10), maxDistrust)))
	t.lost++
}

// The longest time that a pooled connection may have been idle to be used again. Servers close idle
// connections after 5 s and more (Node.js, uvicorn, llama-server), load balancers that terminate TLS
// after 60 s and more.
const maxIdlePlain, maxIdleTLS = 4 * time.Second, 55 * time.Second

// maxIdle returns that time for a connection. keep is the time that the upstream has announced; 0 if it
// has not.
func maxIdle(keep time.Duration, encrypted bool) time.Duration {
	switch {
	case keep > 0:
		return keep - min(time.Second, keep/2)
	case encrypted:
		return maxIdleTLS
	}
	return maxIdlePlain
}

// keepAlive reads how long an upstream keeps an idle connection (Keep-Alive: timeout=5, max=100;
// RFC 2068, 19.7.1.1); 0 if it does not say.
func keepAlive(h http.Header) time.Duration {
	for _, value := range h["Keep-Alive"] {
		for parameter := range strings.SplitSeq(value, ",") {
			name, number, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if seconds, err := strconv.Atoi(number); err == nil && seconds > 0 && seconds < 1<<31 && strings.EqualFold(name, "timeout") {
				return time.Duration(seconds) * time.Second
			}
		}
	}
	return 0
}

// Way says how an upstream is reached. The zero value uses the environment's proxy and trusts the
// system's certificate authorities.
type Way struct {
	// Proxy is the address of a proxy; nil is the environment's.
	Proxy *url.URL
	// Direct uses no proxy.
	Direct bool
	// TLS has the trusted authorities and the client certificate; nil is the default.
	TLS *tls.Config
}

// NewTransport returns a transport made for upstreams: many idle connections to few
// hosts, HTTP/2 where the upstream has it, every phase bounded, no compression asked
// for. How long an answer's headers may take is Config.FirstByte.
func NewTransport(way Way) *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialed(&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}),
		TLSClientConfig:       way.TLS,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   512,
		// Otherwise a custom TLS configuration turns HTTP/2 off.
		ForceAttemptHTTP2: true,
		// One connection carries many calls. Pings find a broken one before the calls on it reach
		// their own timeouts.
		HTTP2:              &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 30 * time.Second},
		DisableCompression: true,
		// Header fields are in no budget of memory. net/http takes 10 MB of them by default.
		MaxResponseHeaderBytes: 256 << 10,
		// Each open stream has both buffers. Larger ones save no measurable CPU time, since bodies larger
		// than a buffer bypass it.
		ReadBufferSize:  8 << 10,
		WriteBufferSize: 4 << 10,
	}
	switch {
	case way.Direct:
		t.Proxy = nil
	case way.Proxy != nil:
		t.Proxy = http.ProxyURL(way.Proxy)
	}
	return t
}
