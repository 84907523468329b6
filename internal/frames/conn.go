package frames

import (
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// ErrFlood is why a connection was ended.
var ErrFlood = errors.New("the peer makes work out of nothing over HTTP/2")

// Conn is a connection of HTTP/2 that a Meter may end.
type Conn struct {
	net.Conn
	meter *Meter
	skip  int // of the preface, bytes that are to come
	ended func(net.Addr)
}

// prefaceSize is the length of what the peer sends ahead of its first frame.
const prefaceSize = 24

// NewConn meters a connection from its beginning. ended is called with the peer's address
// when it is ended; it may be nil.
func NewConn(c net.Conn, ended func(net.Addr)) *Conn {
	meter := New()
	meter.unread = &unread{open: map[uint32]struct{}{}}
	return &Conn{Conn: c, meter: meter, skip: prefaceSize, ended: ended}
}

// Read delivers what the peer sends, until it has sent too much for nothing.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	skipped := min(c.skip, n)
	c.skip -= skipped
	if !c.meter.In(p[skipped:n]) {
		if c.ended != nil {
			c.ended(c.Conn.RemoteAddr())
		}
		return 0, errors.Join(ErrFlood, c.Close())
	}
	return n, err
}

func (c *Conn) Write(p []byte) (int, error) {
	c.meter.Out(p)
	return c.Conn.Write(p)
}

// RemoteAddr is the peer's address, for Trust.
func (c *Conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c.meter} }

// address is that of the peer of a metered connection.
type address struct {
	net.Addr
	meter *Meter
}

// Trust ends the metering of the connection whose RemoteAddr is given: its peer is known, and
// sends what its own callers make it send.
func Trust(peer net.Addr) {
	if a, ok := peer.(address); ok {
		a.meter.Trust()
	}
}

// Credentials meters the connections of a gRPC server behind their handshake, where they are
// decrypted. Those on unix sockets are of the server's own user, and not metered.
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
