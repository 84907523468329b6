package frames

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// ErrFlood is why a connection was ended.
var ErrFlood = errors.New("the peer makes work out of nothing over HTTP/2")

// Conn is a connection that a Meter may end if it is one of HTTP/2.
type Conn struct {
	net.Conn
	meter *Meter
	// opened is how many bytes of the preface have come; -1 for a connection that began otherwise.
	opened int
	// metered says that all of the preface has come.
	metered atomic.Bool
	ended   func(net.Addr)

	mu     sync.Mutex
	closed bool
	then   []func()
}

// preface opens a connection of HTTP/2 (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// NewConn meters a connection from its beginning, if it begins with the preface of HTTP/2. ended is called with the
// peer's address when it is ended; it may be nil.
func NewConn(c net.Conn, ended func(net.Addr)) *Conn {
	return &Conn{Conn: c, meter: New(), ended: ended}
}

// HTTP2 reports whether the connection has turned out to be one of HTTP/2.
func (c *Conn) HTTP2() bool { return c.metered.Load() }

// Read delivers what the peer sends, until it has sent too much for nothing.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.opened < 0 {
		return n, err
	}
	rest := p[:n]
	for len(rest) > 0 && c.opened < len(preface) {
		if rest[0] != preface[c.opened] {
			c.opened = -1
			return n, err
		}
		rest = rest[1:]
		if c.opened++; c.opened == len(preface) {
			c.metered.Store(true)
		}
	}
	if !c.meter.In(rest) {
		if c.ended != nil {
			c.ended(c.Conn.RemoteAddr())
		}
		return 0, errors.Join(ErrFlood, c.Close())
	}
	return n, err
}

func (c *Conn) Write(p []byte) (int, error) {
	if c.metered.Load() {
		c.meter.Out(p)
	}
	return c.Conn.Write(p)
}

// CloseWrite closes the side on which answers leave.
func (c *Conn) CloseWrite() error {
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// Close ends the connection, and calls what waits for that.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	then := c.then
	c.closed, c.then = true, nil
	c.mu.Unlock()
	for _, do := range then {
		do()
	}
	return err
}

// RemoteAddr is the peer's address, for Trust and OnClose.
func (c *Conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// address is that of the peer of a metered connection.
type address struct {
	net.Addr
	conn *Conn
}

// Trust ends the metering of the connection whose RemoteAddr is given: its peer is known, and
// sends what its own callers make it send.
func Trust(peer net.Addr) {
	if a, ok := peer.(address); ok {
		a.conn.meter.Trust()
	}
}

// OnClose has do called when this side closes the connection whose RemoteAddr is given, as it does when the peer has ended
// it. It reports false for a connection that is closed already or is not metered: do is not called then.
func OnClose(peer net.Addr, do func()) bool {
	a, ok := peer.(address)
	if !ok {
		return false
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	if a.conn.closed {
		return false
	}
	a.conn.then = append(a.conn.then, do)
	return true
}

// Credentials meters the connections of a gRPC server after their handshake, where they are
// decrypted. Connections on unix sockets belong to the server's own user and are not metered.
func Credentials(below credentials.TransportCredentials, ended func(net.Addr)) credentials.TransportCredentials {
	return metered{below, ended}
}

type metered struct {
	credentials.TransportCredentials
	ended func(net.Addr)
}

func (m metered) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := m.TransportCredentials.ServerHandshake(raw)
	if err != nil || raw.RemoteAddr().Network() == "unix" {
		return c, info, err
	}
	return NewConn(c, m.ended), info, nil
}

func (m metered) Clone() credentials.TransportCredentials {
	return metered{m.TransportCredentials.Clone(), m.ended}
}
