package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/frames"
)

// metered is a listener whose connections of HTTP/2 are ended by floods. With TLS they are decrypted: the
// listener makes the handshakes, and net/http speaks HTTP/2 in clear text, since it takes no connection
// but a bare *tls.Conn otherwise, whose frames cannot be seen. A connection whose handshake failed is a *tls.Conn, for
// net/http to answer and to log it.
type metered struct {
	net.Listener
	config ServerConfig
}

func newMetered(l net.Listener, config ServerConfig) net.Listener {
	if config.TLS != nil {
		l = connections.Prepare(l, func(ctx context.Context, c net.Conn) net.Conn {
			ctx, done := context.WithTimeout(ctx, headerTimeout)
			defer done()
			below := &opening{Conn: c}
			encrypted := tls.Server(below, config.TLS)
			if err := encrypted.HandshakeContext(ctx); err != nil {
				reason := "handshake"
				if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
					reason = "client-certificate"
					drain(c)
				}
				if below.read && config.Notices != nil {
					config.Notices.Add(reason, c.RemoteAddr())
				}
			}
			return encrypted
		})
	}
	return metered{l, config}
}

// drain takes what a client sends whose certificate is refused, for half a second. With TLS 1.3 it may have begun its request;
// if the connection were reset, the client would not learn what is wrong with its certificate.
func drain(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if ok && half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(time.Second/2)) == nil {
		_, _ = io.CopyN(io.Discard, c, 1<<20)
	}
}

// Accept returns the next connection.
func (m metered) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if encrypted, ok := c.(*tls.Conn); ok && !encrypted.ConnectionState().HandshakeComplete {
		return c, nil
	}
	caller := &callerConn{Conn: c}
	conn := frames.NewConn(caller, func(from net.Addr) {
		if m.config.Notices != nil {
			m.config.Notices.Add("flood", from)
		}
	})
	caller.http2 = conn.HTTP2
	if m.config.carriesMany(c.RemoteAddr()) {
		frames.Trust(conn.RemoteAddr())
	}
	return conn, nil
}

// carriesMany reports whether connections from an address carry the requests of many callers.
func (c ServerConfig) carriesMany(from net.Addr) bool {
	tcp, ok := from.(*net.TCPAddr)
	if !ok {
		return len(c.TrustedProxies) > 0 // a unix socket is a proxy's, see clientAddress
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	return slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// opening is a connection that should begin with a handshake. A load balancer's check sends nothing on it.
type opening struct {
	net.Conn
	read bool
}

func (o *opening) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.read = o.read || n > 0
	return n, err
}

// NetConn returns the connection below.
func (o *opening) NetConn() net.Conn { return o.Conn }

// encrypted is a handler of requests over TLS, of which net/http does not know: see metered.
type encrypted struct{ http.Handler }

// ServeHTTP answers a request that says how it is encrypted.
func (e encrypted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.TLS, _ = r.Context().Value(tlsKey{}).(*tls.ConnectionState)
	e.Handler.ServeHTTP(w, r)
}

type tlsKey struct{}

type callerKey struct{}

// withCaller tells the requests of a connection how it is encrypted, and which it is.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	conn, ok := c.(*frames.Conn)
	if !ok {
		return ctx
	}
	caller, ok := conn.Conn.(*callerConn)
	if !ok {
		return ctx
	}
	if below, ok := caller.Conn.(*tls.Conn); ok {
		state := below.ConnectionState()
		ctx = context.WithValue(ctx, tlsKey{}, &state)
	}
	return context.WithValue(ctx, callerKey{}, caller)
}

// callerConn is a connection that tells a peer of HTTP/1 that has closed only its sending side, and waits for
// its answer, from one that has left. TCP says the same of both, until something is sent: then the system of a
// peer that has left resets the connection. Sent is the answer itself, if it comes soon; else an interim answer
// (100, RFC 9110, section 15.2), or an event of a stream.
type callerConn struct {
	net.Conn
	http2 func() bool

	mu sync.Mutex
	// asked is set once a handler has the request, interim if its version has interim answers, and begun
	// once a part of its answer was written.
	asked, interim, begun bool
	// prompt is closed to have a stream send something at once; a connection ends once, so its streams share it.
	prompt chan struct{}
}

// errGone is the error of a connection that the peer has left.
var errGone = errors.New("gateway: the caller has closed the connection")

// answerSoon is how long an answer may take to begin before the peer is sent something in its place.
const answerSoon = 25 * time.Millisecond

// Read reads as the connection does. net/http reads one byte while a handler answers, after all of the request
// has come, to notice a caller that leaves: its end is held back until it is certain, or until net/http
// sets the read deadline that ends this reading once the answer is complete.
func (c *callerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if len(p) != 1 || n > 0 || !errors.Is(err, io.EOF) || c.http2() {
		return n, err
	}
	socket := socketOf(c.Conn)
	if socket == nil {
		return n, err
	}
	probe := time.AfterFunc(answerSoon, c.probe)
	defer probe.Stop()
	if err := waitForReset(socket); err != nil {
		return 0, err
	}
	return 0, errGone
}

// probe sends a caller that has closed its sending side something. One to which nothing can be sent is gone.
func (c *callerConn) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.asked:
		time.AfterFunc(answerSoon, c.probe) // net/http reads on before it calls the handler
	case !c.begun && c.interim:
		_, _ = c.Conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	case !c.begun:
		_ = c.SetReadDeadline(time.Unix(1, 0))
	case c.prompt != nil:
		close(c.prompt)
		c.prompt = nil
	}
}

// answers notes that a handler begins to answer a request.
func (c *callerConn) answers(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.interim, c.begun = true, r.ProtoAtLeast(1, 1), false
}

// prompted returns a channel that is closed when the stream that is being answered should send something at
// once; nil for HTTP/2.
func (c *callerConn) prompted() <-chan struct{} {
	if c.http2() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt == nil {
		c.prompt = make(chan struct{})
	}
	return c.prompt
}

// Write sends a piece of an answer.
func (c *callerConn) Write(p []byte) (int, error) {
	if c.http2() {
		return c.Conn.Write(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	return c.Conn.Write(p)
}

// CloseWrite closes the side on which answers leave.
func (c *callerConn) CloseWrite() error {
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// socketOf returns the socket below a connection; nil for none.
func socketOf(c net.Conn) syscall.RawConn {
	for {
		if s, ok := c.(syscall.Conn); ok {
			raw, err := s.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		}
		below, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = below.NetConn()
	}
}
