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

func newMetered(l net.Listener, config ServerConfig, handshake time.Duration) net.Listener {
	if config.TLS != nil {
		l = connections.Prepare(l, func(ctx context.Context, c net.Conn) net.Conn {
			ctx, done := context.WithTimeout(ctx, handshake)
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
	conn := frames.NewConn(c, func(from net.Addr) {
		if m.config.Notices != nil {
			m.config.Notices.Add("flood", from)
		}
	})
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

// encrypted is a handler of requests over TLS, of which net/http does not know: see metered.
type encrypted struct{ http.Handler }

// ServeHTTP answers a request that says how it is encrypted.
func (e encrypted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.TLS, _ = r.Context().Value(tlsKey{}).(*tls.ConnectionState)
	e.Handler.ServeHTTP(w, r)
}

type tlsKey struct{}

// withTLS tells the requests of a connection how it is encrypted.
func withTLS(ctx context.Context, c net.Conn) context.Context {
	conn, ok := c.(*frames.Conn)
	if !ok {
		return ctx
	}
	below, ok := conn.Conn.(*tls.Conn)
	if !ok {
		return ctx
	}
	state := below.ConnectionState()
	return context.WithValue(ctx, tlsKey{}, &state)
}
