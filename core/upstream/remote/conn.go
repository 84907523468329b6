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

// errRefused is the error of a write to a connection that was refused. No byte is sent.
var errRefused = errors.New("remote: the connection is not used any more")

// conn is a connection to an upstream. It writes a body that is in memory with one system call.
// net/http would copy it in pieces of 32 KiB, each with a system call of its own: a twentieth of the
// cost of a request of 1 MB.
type conn struct {
	net.Conn
	// raw is the socket; nil for other connections. look is the function for its Control, made once
	// since each call needs it. at serialises looks, and seen is the result of the last.
	raw  syscall.RawConn
	look func(fd uintptr)
	at   sync.Mutex
	seen state

	// closed is closed when the other side has closed, or we have.
	closed chan struct{}
	once   sync.Once
	// refused means that nothing more may be written.
	refused atomic.Bool
	// written counts the bytes that were written, including those of a write in progress: an answer
	// may arrive before the write has returned.
	written atomic.Int64

	// after is the kind of call that the connection served last. keep is the time in nanoseconds that
	// the upstream has announced to keep it; 0 if it has not.
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

// dead reports whether the other side has closed the connection or has sent something unasked. It is
// called while no call uses the connection.
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

// ReadFrom sends all of r.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.refused.Load() {
		return 0, errRefused
	}
	c.written.Add(1) // until the number of bytes is known, assume that some were written
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

// atMost is a connection that takes at most bytes in one write.
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
