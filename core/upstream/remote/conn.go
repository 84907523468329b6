package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// dialed gives connections that send bodies whole and know whether the other side has
// closed them.
func dialed(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newConn(conn), nil
	}
}

// errRefused is a write to a connection that is not to be used any more. No byte of it is
// sent.
var errRefused = errors.New("remote: the connection is not used any more")

// conn is a connection to an upstream. It takes a body that lies in memory as it lies:
// net/http hands bodies over to be read, and what reads them copies 32 KiB at a time, each
// with a call of the system: a twentieth of all that carrying a request of 1 MB costs.
type conn struct {
	net.Conn
	// raw is the socket, nil for other connections, and look a function for its Control,
	// ready since each call needs it.
	raw  syscall.RawConn
	look func(fd uintptr)
	at   sync.Mutex // keeps looks apart
	seen state

	// closed is closed when the other side has closed, or we have.
	closed chan struct{}
	once   sync.Once
	// refused says that nothing more may be written.
	refused atomic.Bool
	// written counts the bytes that were. Those under way count: an answer may come before
	// the write has returned.
	written atomic.Int64

	// after is what the connection served last, and keep how long in nanoseconds the
	// upstream says that it keeps it; 0 when it does not say.
	after kind
	keep  atomic.Int64
}

// state is what a look at a socket finds.
type state int

const (
	open state = iota
	closed
)

func newConn(c net.Conn) *conn {
	made := &conn{Conn: c, closed: make(chan struct{})}
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			made.raw = raw
			made.look = func(fd uintptr) { made.seen = lookAt(fd) }
		}
	}
	return made
}

// Read notes the end of what the other side sends.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.end()
	}
	return n, err
}

// Close closes the connection.
func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

func (c *conn) end() { c.once.Do(func() { close(c.closed) }) }

// dead reports whether the connection has been closed, or something came over it that
// was not asked for. It is asked while no call uses the connection.
func (c *conn) dead() bool {
	select {
	case <-c.closed:
		return true
	default:
	}
	if c.raw == nil {
		return false
	}
	c.at.Lock()
	defer c.at.Unlock()
	return c.raw.Control(c.look) != nil || c.seen == closed
}

// Write sends p, unless the connection is refused.
func (c *conn) Write(p []byte) (int, error) {
	if c.refused.Load() {
		return 0, errRefused
	}
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// ReadFrom sends what r has.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.refused.Load() {
		return 0, errRefused
	}
	c.written.Add(1) // it may turn out to be none, which is no reason to think so
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(io.WriterTo); ok {
			n, err := body.WriteTo(atMost{c.Conn, limited.N})
			limited.N -= n
			c.written.Add(n)
			return n, err
		}
	}
	n, err := io.Copy(c.Conn, r)
	c.written.Add(n)
	return n, err
}

// atMost is a connection that takes so many bytes at once.
type atMost struct {
	net.Conn
	bytes int64
}

func (c atMost) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.bytes {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:c.bytes])
	return n, cmp.Or(err, io.ErrShortWrite)
}
