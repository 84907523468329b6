// Package connections bounds how many connections a listener has open, in all and from one
// address, so that a stranger can use up neither the process's files nor the memory that a
// connection costs before anything is known of its caller. Prepare has connections prepared
// before Accept.
//
// It must not import anything of ours.
package connections

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config bounds a listener's connections. Connections on unix sockets count only in Most.
type Config struct {
	// Most is how many may be open at once; 0 is any number.
	Most int
	// MaxPerAddress is how many may be open from one address, for which an IPv6 network of
	// 64 bits counts as one; 0 is any number.
	MaxPerAddress int
	// Exempt are networks to which MaxPerAddress does not apply: proxies, whose
	// connections come from many callers.
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

// Notices report the connections that one port refused or ended: in the log, with at most one
// line a second, and to a counter. They are safe for concurrent use.
type Notices struct {
	log   *slog.Logger
	port  string
	count func(port, reason string)

	mu     sync.Mutex
	logged time.Time
	since  map[string]int // by reason, since the last line
}

// NewNotices returns the notices of a port. count may be nil.
func NewNotices(log *slog.Logger, port string, count func(port, reason string)) *Notices {
	return &Notices{log: log, port: port, count: count, since: map[string]int{}}
}

// Add counts a connection.
func (n *Notices) Add(reason string, from net.Addr) {
	n.Count(reason)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.since[reason]++
	now := time.Now()
	if now.Sub(n.logged) < time.Second {
		return
	}
	n.logged = now
	reasons := make([]string, 0, len(n.since))
	for _, reason := range slices.Sorted(maps.Keys(n.since)) {
		reasons = append(reasons, reason+"="+strconv.Itoa(n.since[reason]))
	}
	clear(n.since)
	n.log.Warn("connections were refused or ended", "port", n.port, "reasons", strings.Join(reasons, " "), "last_from", from.String())
}

// Count counts a connection without a log line.
func (n *Notices) Count(reason string) {
	if n.count != nil {
		n.count(n.port, reason)
	}
}

// Prepare returns a listener whose connections are prepared before Accept, each beside the
// others: by a handshake, or by reading a header. prepare returns the connection to accept, or
// nil for one that it has closed. Its context ends when the listener is closed.
func Prepare(l net.Listener, prepare func(context.Context, net.Conn) net.Conn) net.Listener {
	ctx, stop := context.WithCancel(context.Background())
	p := &prepared{Listener: l, prepare: prepare, ctx: ctx, stop: stop, accepted: make(chan accepted)}
	p.owned.Go(p.accept)
	return p
}

type prepared struct {
	net.Listener
	prepare  func(context.Context, net.Conn) net.Conn
	ctx      context.Context //nolint:containedctx // of the preparations: it ends with the listener
	stop     context.CancelFunc
	owned    sync.WaitGroup
	accepted chan accepted
}

type accepted struct {
	conn net.Conn
	err  error
}

// accept takes connections until the listener is closed.
func (p *prepared) accept() {
	for {
		c, err := p.Listener.Accept()
		if err == nil {
			p.owned.Go(func() {
				if ready := p.prepare(p.ctx, c); ready != nil {
					p.give(accepted{conn: ready})
				}
			})
			continue
		}
		p.give(accepted{err: err})
		if errors.Is(err, net.ErrClosed) || p.ctx.Err() != nil {
			return
		}
	}
}

// give hands over what was accepted, or closes it when the listener is closed.
func (p *prepared) give(a accepted) {
	select {
	case p.accepted <- a:
	case <-p.ctx.Done():
		if a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

// Accept returns the next connection that is prepared.
func (p *prepared) Accept() (net.Conn, error) {
	select {
	case a := <-p.accepted:
		return a.conn, a.err
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener and the connections that it has not given.
func (p *prepared) Close() error {
	err := p.Listener.Close()
	p.stop()
	p.owned.Wait()
	return err
}
