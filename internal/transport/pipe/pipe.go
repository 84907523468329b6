// Package pipe has a listener without a network: connections between two parts of one process,
// which name an address of the caller's.
package pipe

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Listener accepts the connections that Dial makes. It is safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewListener makes a listener.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener, which sees the connection come from an address; the zero Addr is
// a unix socket's. It waits until the connection is accepted, and fails with net.ErrClosed
// once the listener is closed.
func (l *Listener) Dial(ctx context.Context, from netip.Addr) (net.Conn, error) {
	ours, theirs := net.Pipe()
	var remote net.Addr = at{}
	if from.IsValid() {
		remote = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	select {
	case l.conns <- conn{theirs, remote}:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial. Connections go on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is the address of a unix socket without a name.
func (l *Listener) Addr() net.Addr { return at{} }

type conn struct {
	net.Conn
	remote net.Addr
}

func (c conn) RemoteAddr() net.Addr { return c.remote }

// at is the address of a unix socket without a name, as net/http has it.
type at struct{}

func (at) Network() string { return "unix" }
func (at) String() string  { return "@" }
