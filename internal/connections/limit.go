// Package connections bounds how many connections a listener has open, in all and from one
// address, so that a stranger can use up neither the process's files nor the memory that a
// connection costs before anything is known of its caller. Prepare has connections prepared
// ahead of Accept.
//
// It must not import anything of ours.
package connections

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Config bounds a listener's connections. Connections on unix sockets count only in Most.
type Config struct {
	// Most is how many may be open at once; 0 is any number.
	Most int
	// MaxPerAddress is how many may be open from one address, for which an IPv6 network of
	// 64 bits counts as one; 0 is any number.
	MaxPerAddress int
	// Exempt are networks to which MaxPerAddress does not apply: those of proxies, whose
	// connections are of many callers.
	Exempt []netip.Prefix
	// Refused, if set, is called with the limit's name for each connection that is refused.
	Refused func(limit Limit, from net.Addr)
}

// Limit is the limit that refused a connection.
type Limit string

// The values of Limit.
const (
	InAll      Limit = "all"
	PerAddress Limit = "address"
)

// NewListener returns a listener that closes the connections beyond the limits as soon as they
// are accepted, without an answer: each answer would need a connection more.
func NewListener(l net.Listener, config Config) net.Listener {
	return &listener{Listener: l, config: config, from: map[netip.Addr]int{}}
}

type listener struct {
	net.Listener
	config Config

	mu   sync.Mutex
	open int
	from map[netip.Addr]int // how many are open, for those with any that count
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := l.counted(c.RemoteAddr())
		limit := l.admit(address)
		if limit == "" {
			return &conn{Conn: c, release: sync.OnceFunc(func() { l.release(address) })}, nil
		}
		if l.config.Refused != nil {
			l.config.Refused(limit, c.RemoteAddr())
		}
		_ = c.Close()
	}
}

// counted is the address that a connection counts for; the zero value is none.
func (l *listener) counted(from net.Addr) netip.Addr {
	tcp, ok := from.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.config.Exempt, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return netip.Addr{}
	}
	if network, err := address.Prefix(64); address.Is6() && err == nil {
		return network.Masked().Addr()
	}
	return address
}

// admit counts a connection, or returns the limit that it is beyond.
func (l *listener) admit(address netip.Addr) Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.config.Most > 0 && l.open >= l.config.Most:
		return InAll
	case address.IsValid() && l.config.MaxPerAddress > 0 && l.from[address] >= l.config.MaxPerAddress:
		return PerAddress
	}
	l.open++
	if address.IsValid() {
		l.from[address]++
	}
	return ""
}

func (l *listener) release(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !address.IsValid() {
		return
	}
	if l.from[address]--; l.from[address] == 0 {
		delete(l.from, address)
	}
}

// conn is an admitted connection, which counts until it is closed.
type conn struct {
	net.Conn
	release func()
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite closes the side on which answers leave.
func (c *conn) CloseWrite() error {
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }
