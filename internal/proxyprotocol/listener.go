// Package proxyprotocol provides a listener for use behind balancers that forward connections without reading them and
// name their callers by the PROXY protocol, version 1 or 2
// (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt).
//
// It must not import anything of ours but package connections.
package proxyprotocol

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/genway/genway/internal/connections"
	"github.com/pires/go-proxyproto"
)

// Config says who is a balancer.
type Config struct {
	// Balancers are the networks whose connections begin with a header of the PROXY
	// protocol. One without is closed: the protocol cannot distinguish a missing
	// header from one of the caller's own. On a unix socket every connection is a balancer's.
	// Connections from elsewhere are taken as they are, and a header on one is no HTTP.
	Balancers []netip.Prefix
	// Timeout is how long a header may take. Default 5 s.
	Timeout time.Duration
	// Refused, if set, is called for each connection that is closed for its header.
	Refused func(from net.Addr)
}

// Refusal is the reason under which such connections are counted.
const Refusal = "proxy_protocol"

// NewListener returns a listener whose connections have their callers' addresses. Headers are
// read before Accept, each beside the others, so that RemoteAddr never waits.
func NewListener(l net.Listener, config Config) net.Listener {
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	return connections.Prepare(l, config.prepare)
}

// prepare reads the header of a balancer's connection.
func (config Config) prepare(ctx context.Context, c net.Conn) net.Conn {
	if !config.balances(c.RemoteAddr()) {
		return c
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	header := proxyproto.NewConn(c, proxyproto.WithPolicy(proxyproto.REQUIRE), proxyproto.SetReadHeaderTimeout(config.Timeout))
	if header.ProxyHeader() != nil {
		return &conn{Conn: header, below: c}
	}
	if config.Refused != nil && ctx.Err() == nil {
		config.Refused(c.RemoteAddr())
	}
	_ = c.Close()
	return nil
}

// balances reports whether an address is a balancer's.
func (config Config) balances(from net.Addr) bool {
	tcp, ok := from.(*net.TCPAddr)
	if !ok {
		return true
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	return slices.ContainsFunc(config.Balancers, func(p netip.Prefix) bool { return p.Contains(address) })
}

// conn is a connection whose header has been read.
type conn struct {
	*proxyproto.Conn
	below net.Conn
}

// RemoteAddr is the caller's address, or the balancer's where the header names none: a
// connection of its own (LOCAL), or a caller who came by no IP.
func (c *conn) RemoteAddr() net.Addr {
	if tcp, ok := c.Conn.RemoteAddr().(*net.TCPAddr); ok {
		return tcp
	}
	return c.below.RemoteAddr()
}

// CloseWrite closes the side on which answers leave.
func (c *conn) CloseWrite() error {
	if below, ok := c.below.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.below }
