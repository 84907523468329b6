package remote

import (
	"cmp"
	"context"
	"io"
	"net"
)

// dialed gives connections that send bodies whole.
func dialed(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wholeConn{conn}, nil
	}
}

// wholeConn takes a body that lies in memory as it lies. net/http hands bodies over to be
// read, and what reads them copies 32 KiB at a time, each with a call of the system: a
// twentieth of all that carrying a request of 1 MB costs.
type wholeConn struct{ net.Conn }

// ReadFrom sends what r has.
func (c wholeConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(io.WriterTo); ok {
			n, err := body.WriteTo(atMost{c.Conn, limited.N})
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(c.Conn, r)
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
