// Package frames ends HTTP/2 connections whose peer floods the server with cheap frames:
// streams that are reset as soon as they are opened (rapid reset), frames that make the
// server reset streams (made you reset), and floods of PING, SETTINGS, PRIORITY,
// WINDOW_UPDATE, CONTINUATION, and of DATA of a few bytes. net/http and grpc-go bound what
// most of these hold in memory, and do not end the connection.
//
// A Meter sees the headers of the frames of both directions, which costs a few nanoseconds a
// frame, and keeps an account: cheap frames of the peer are paid from a balance that grows
// with time and with each answer that is sent.
//
// The package must not import anything of ours.
package frames

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

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

// address is the address of the peer of a metered connection.
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

// The types of frames and the errors that matter here (RFC 9113, sections 6 and 7).
const (
	data      = 0x0
	headers   = 0x1
	rstStream = 0x3
	settings  = 0x4
	ping      = 0x6

	continuation = 0x9

	flagEndStream = 0x1 // of data and headers
	flagACK       = 0x1 // of settings and ping
	flagPadded    = 0x8 // of data and headers
	flagPriority  = 0x20

	noError = 0x0
	cancel  = 0x8

	headSize = 9
	rstSize  = headSize + 4
	// paddedSize is up to the length of the padding.
	paddedSize   = headSize + 1
	prioritySize = 5 // of a priority in HEADERS
)

// smallData is the length of DATA, in bytes, from which it is worth its frame.
const smallData = 64

// frame is what is known of a frame.
type frame struct {
	kind, flags byte
	// length is the length of the payload, without padding, its length and a priority.
	length int
	stream uint32
	code   uint32 // of an RST_STREAM
}

// cost returns the cost of a peer's frame that neither opens nor resets a stream: 1 if it carries
// nothing worth its work, as a fair part of a body is. Acknowledgements answer what was
// asked for.
func (f frame) cost() int64 {
	switch {
	case f.kind == data && (f.length >= smallData || f.flags&flagEndStream != 0),
		(f.kind == settings || f.kind == ping) && f.flags&flagACK != 0:
		return 0
	case (f.kind == headers || f.kind == continuation) && f.length > largeHead:
		return largeHeadCost
	}
	return 1
}

// reader finds the frames of one direction in pieces of any length.
type reader struct {
	head [rstSize]byte
	have int
	skip int // bytes of the current frame's payload that are to come
}

// next returns the next frame and the bytes after its head; whole is false at the end of p.
func (r *reader) next(p []byte) (rest []byte, f frame, whole bool) {
	skipped := min(r.skip, len(p))
	r.skip -= skipped
	p = p[skipped:]
	size := headSize
	if r.have >= headSize {
		size = r.whole()
	}
	for {
		n := copy(r.head[r.have:size], p)
		r.have += n
		p = p[n:]
		if r.have < size {
			return nil, frame{}, false
		}
		if size == headSize && r.whole() > headSize {
			size = r.whole()
			continue
		}
		length := r.length()
		f = frame{kind: r.head[3], flags: r.head[4], length: length, stream: binary.BigEndian.Uint32(r.head[5:9]) & (1<<31 - 1)}
		switch size {
		case rstSize:
			f.code = binary.BigEndian.Uint32(r.head[headSize:])
		case paddedSize:
			f.length -= 1 + int(r.head[headSize])
		}
		if f.kind == headers && f.flags&flagPriority != 0 {
			f.length -= prioritySize
		}
		f.length = max(f.length, 0)
		r.have, r.skip = 0, length-(size-headSize)
		return p, f, true
	}
}

// length is the length of the current frame's payload.
func (r *reader) length() int { return int(binary.BigEndian.Uint32(r.head[:4]) >> 8) }

// whole is how many bytes of the current frame are looked at, its head included.
func (r *reader) whole() int {
	switch kind, length := r.head[3], r.length(); {
	case kind == rstStream && length >= rstSize-headSize:
		return rstSize
	case (kind == data || kind == headers) && r.head[4]&flagPadded != 0 && length > 0:
		return paddedSize
	}
	return headSize
}

// The account of a connection, in frames.
const (
	// Burst is how many cheap frames a peer may send at once.
	Burst = 2000
	// perSecond is how many more it may send each second.
	perSecond = 200
	// perAnswer is how many more it may send for each frame of an answer, and perKiB for
	// each KiB of it: a peer acknowledges what it has received.
	perAnswer = 8
	perKiB    = 4
	// fault is what a stream costs that the peer resets early, or makes the server reset.
	fault = 10
)

// Meter keeps the account of one connection. In and Out may be called at the same time, each
// by one goroutine. Its zero value is at a connection's first frame, and not ready: see New.
type Meter struct {
	in, out reader
	balance atomic.Int64
	// refilled is when time was last counted, in milliseconds since begun.
	refilled atomic.Int64
	begun    time.Time
	streams  streams
	trusted  atomic.Bool
}

// New returns the meter of a connection whose preface has been read.
func New() *Meter {
	m := &Meter{begun: time.Now()}
	m.balance.Store(Burst)
	return m
}

// Trust ends the account: whatever comes is taken.
func (m *Meter) Trust() {
	if !m.trusted.Load() {
		m.trusted.Store(true)
	}
}

// In counts the next bytes that came from the peer. It reports whether the peer may go on:
// false is the end of the connection.
func (m *Meter) In(p []byte) bool {
	if m.trusted.Load() {
		return true
	}
	var cost int64
	var now int64 = -1
	for len(p) > 0 {
		var f frame
		var whole bool
		if p, f, whole = m.in.next(p); !whole {
			break
		}
		switch f.kind {
		case headers, rstStream:
			if now < 0 {
				now = m.now()
			}
			cost += m.streams.cost(f, now)
		default:
			cost += f.cost()
		}
	}
	if cost == 0 {
		return m.balance.Load() >= 0
	}
	return m.pay(cost)
}

// Out counts the next bytes that are sent to the peer.
func (m *Meter) Out(p []byte) {
	if m.trusted.Load() {
		return
	}
	var earned int64
	for len(p) > 0 {
		var f frame
		var whole bool
		if p, f, whole = m.out.next(p); !whole {
			break
		}
		switch f.kind {
		case headers, data:
			earned += perAnswer + int64(f.length)*perKiB>>10
		case rstStream:
			if f.code != noError && f.code != cancel {
				earned -= fault
			}
		}
	}
	if earned != 0 {
		m.earn(earned)
	}
}

// pay takes the cost of frames from the balance, and reports whether it covers them.
func (m *Meter) pay(cost int64) bool {
	now := m.now()
	if since := now - m.refilled.Load(); since*perSecond >= 1000 {
		m.refilled.Store(now)
		m.earn(since * perSecond / 1000)
	}
	return m.balance.Add(-cost) >= 0
}

// earn raises the balance, up to Burst.
func (m *Meter) earn(n int64) {
	if above := m.balance.Add(n) - Burst; above > 0 {
		m.balance.Add(-above)
	}
}

func (m *Meter) now() int64 { return time.Since(m.begun).Milliseconds() }

// streams knows of the peer's streams what their frames cost.
type streams struct {
	highest uint32
	// open is how many were opened and not reset.
	open int64
	// last says when the last ones were opened, in milliseconds.
	last [64]struct {
		stream uint32
		at     int64
	}
}

// earlyReset is the age of a stream, in milliseconds, below which its reset is early: its
// opener did not wait for an answer.
const earlyReset = 20

// emptyHead is the cost of a HEADERS of fewer than smallestHead bytes: a request has two fields at least, the fields of
// CONNECT (RFC 9113, section 8.5), each of a byte or more. It is more than an answer earns.
const (
	emptyHead    = 2 * fault
	smallestHead = 2
)

// A frame of fields of more than largeHead bytes costs largeHeadCost, more than an answer earns: in
// HPACK a byte may stand for kilobytes of fields (RFC 7541, section 7.3). Clients send the fields
// that they repeat as an index each, and seldom send so many others.
const (
	largeHead     = 8 << 10
	largeHeadCost = 4 * fault
)

// cost returns the cost of a HEADERS or RST_STREAM. To open a stream is free, and to reset it once,
// but early.
func (s *streams) cost(f frame, now int64) int64 {
	slot := &s.last[f.stream/2%uint32(len(s.last))]
	if f.kind == headers {
		if f.stream <= s.highest {
			return f.cost() // trailers
		}
		s.highest = f.stream
		s.open++
		slot.stream, slot.at = f.stream, now
		switch {
		case f.length < smallestHead:
			return emptyHead
		case f.length > largeHead:
			return largeHeadCost
		}
		return 0
	}
	s.open--
	switch {
	case slot.stream == f.stream && now-slot.at < earlyReset:
		return fault
	case s.open < 0:
		s.open = 0
		return 1
	}
	return 0
}
