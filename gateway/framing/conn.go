package framing

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/genway/genway/internal/frames"
)

// NewListener gives a listener whose connections deliver unambiguous requests. It must not be
// put below TLS, as a Conn looks at what is decrypted: NewTLSListener is for that.
func NewListener(l net.Listener, config Config) net.Listener { return listener{l, config} }

// Config says what a listener does with its connections. The zero value is good.
type Config struct {
	// Ended, if set, is called with the reason for each connection that is ended.
	Ended func(reason string, from net.Addr)
	// Unmetered, if set, reports whether a connection of HTTP/2 from an address is not
	// metered: that of a proxy carries the requests of many callers.
	Unmetered func(from net.Addr) bool
	// Refuse, if set, gives the whole answer to a request of HTTP/1 that net/http refuses
	// itself, in the place of net/http's. Conn.Answering must be called then.
	Refuse func(Refusal, *Conn) []byte
}

type listener struct {
	net.Listener
	config Config
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.config), nil
}

// Conn is a connection that delivers unambiguous requests.
type Conn struct {
	net.Conn
	scanner scanner
	// held is the beginning of a line that is delivered as a whole.
	held   [maxHeld]byte
	nheld  int
	ending []byte // to be delivered ahead of the end
	// ahead has come behind the end of a request, and is not scanned yet.
	ahead []byte
	// delivered is how many bytes were, and short says that the first head has ended after so few
	// that it is malformed: nothing else is delivered, since net/http would wait for it.
	delivered int
	short     bool
	// cut says that the peer has ended its side of the connection, and answering that a
	// handler answers.
	cut       bool
	answering atomic.Bool
	// ended says that nothing else is delivered, broken that the end is that of a body, and
	// closed that Close was called.
	ended, closed atomic.Bool
	broken        bool
	config        Config
	// meter is the scanner's, for the goroutines that write.
	meter atomic.Pointer[frames.Meter]
}

// NewConn wraps a connection on which requests come in clear text.
func NewConn(c net.Conn) *Conn { return newConn(c, Config{}) }

func newConn(c net.Conn, config Config) *Conn { return &Conn{Conn: c, config: config} }

// NetConn gives the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// HTTP2 reports whether the connection has turned out to be one of HTTP/2.
func (c *Conn) HTTP2() bool { return c.meter.Load() != nil }

// leastHead is how many bytes a head has at least that is not malformed. net/http waits for as
// many as it takes to tell a connection's first head from the preface of HTTP/2, 14, even where
// that head has ended.
const leastHead = len("A * HTTP/1.0\r\n\r\n")

// Read delivers what has come of unambiguous requests.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.Conn.Read(p)
	}
	for {
		if len(c.ending) > 0 {
			n := copy(p, c.ending)
			c.ending = c.ending[n:]
			return n, nil
		}
		if c.short || c.ended.Load() {
			if c.broken {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, io.EOF
		}
		if len(p) <= c.nheld {
			return c.readSmall(p)
		}
		n, err := c.read(p[c.nheld:])
		if n > 0 {
			copy(p, c.held[:c.nheld])
			if n = c.take(p[:c.nheld+n]); n > 0 {
				return n, nil // the error comes again
			}
		}
		if err != nil {
			c.cut = errors.Is(err, io.EOF)
			return 0, err
		}
	}
}

// Write sends a piece of an answer, or what Config.Refuse has in the place of one that is
// net/http's own.
func (c *Conn) Write(p []byte) (int, error) {
	if r, ok := c.refused(p); ok {
		return len(p), c.refuse(r)
	}
	if meter := c.meter.Load(); meter != nil {
		meter.Out(p)
	}
	return c.Conn.Write(p)
}

// take scans the bytes and gives how many may be delivered now.
func (c *Conn) take(p []byte) int {
	known := c.scanner.meter
	n, reason := c.scanner.scan(p)
	if meter := c.scanner.meter; meter != known {
		if c.config.Unmetered != nil && c.config.Unmetered(c.RemoteAddr()) {
			meter.Trust()
		}
		c.meter.Store(meter)
	}
	switch {
	case reason != "":
		c.nheld = 0
	case c.scanner.whole:
		c.nheld = 0
		if n < len(p) {
			c.ahead = append(bytes.Clone(p[n:]), c.ahead...)
		}
		c.delivered += n
		c.short = c.delivered < leastHead
		return n
	default:
		c.nheld = copy(c.held[:], p[n:])
		c.delivered += n
		return n
	}
	if c.config.Ended != nil {
		c.config.Ended(reason, c.RemoteAddr())
	}
	switch s := &c.scanner; s.state {
	case atPreface:
	case atHTTP2:
		c.broken = true
		_ = c.Conn.Close() // a peer that does not read would hold up what is being written
	case atRequest, atHeader:
		c.ending = s.refusal(n > 0 && p[n-1] != '\n' || n == 0 && s.column > 0, reason) //nolint:gosec // n is above 0
	default:
		c.broken = true
	}
	c.ended.Store(true)
	return n
}

// refusal ends the current head with the reason. The line that was delivered last may lack
// its end.
func (s *scanner) refusal(open bool, reason string) []byte {
	text := ""
	if open {
		text = "\r\n"
	}
	if s.state == atRequest {
		s.head = head{}
	}
	if !s.head.host {
		text += "Host: unknown\r\n"
	}
	return []byte(text + "Connection: close\r\n" + Header + ": " + reason + "\r\n\r\n")
}

// readSmall reads for a buffer that has no room beside what is held.
func (c *Conn) readSmall(p []byte) (int, error) {
	larger := make([]byte, 2*maxHeld)
	n, err := c.Read(larger)
	copied := copy(p, larger[:n])
	if copied < n {
		c.ending = append(larger[copied:n:n], c.ending...)
	}
	return copied, err
}

// CloseWrite closes the side on which answers leave.
func (c *Conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// Close closes the connection. Where a request was refused, it first takes what has come
// behind it: TCP would reset the connection otherwise, and the caller lose its answer.
func (c *Conn) Close() error {
	if c.ended.Load() && !c.closed.Swap(true) {
		drain(c.Conn)
	}
	return c.Conn.Close()
}

// A refused caller's bytes are taken for so long, and so many of them.
const (
	drainTime  = 500 * time.Millisecond
	drainBytes = 1 << 20
)

func drain(c net.Conn) {
	if closeWrite(c) != nil || c.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	buffer := make([]byte, 4<<10)
	for taken := 0; taken < drainBytes; {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		taken += n
	}
}

// read takes bytes that came behind the end of a request ahead of those of the connection.
func (c *Conn) read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
