package shared

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// client asks the server, over connections that it keeps. Each question has the deadline
// of its context, which it must have; that its context is cancelled does not end it.
type client struct {
	server *address
	slots  chan struct{} // a place for each connection there may be
	mu     sync.Mutex
	idle   []*connection
	closed bool
}

// connection is one to the server, for one question at a time.
type connection struct {
	redis.Conn
	raw      net.Conn
	deadline time.Time
}

var errClosed = errors.New("limit: the shared store is closed")

func newClient(server *address) *client {
	return &client{server: server, slots: make(chan struct{}, 10*runtime.GOMAXPROCS(0))}
}

// do has a question asked over a connection. One that failed is not used again.
func (c *client) do(ctx context.Context, ask func(*connection) error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.slots }()
	conn, err := c.take(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		c.put(conn) // its time was over before it was asked
		return err
	}
	conn.deadline, _ = ctx.Deadline()
	if err := conn.raw.SetWriteDeadline(conn.deadline); err != nil {
		return errors.Join(err, conn.Close())
	}
	err = ask(conn)
	if demoted(err) {
		return errors.Join(err, conn.Close(), c.forget())
	}
	c.put(conn)
	return err
}

// demoted reports whether the server that was asked is a replica by now: its name may be
// another's.
func demoted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "READONLY ")
}

// take gives the connection that was used last and is alive, or a new one. Where the
// server was started anew, those to the old one are found out before they are used.
func (c *client) take(ctx context.Context) (*connection, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		last := len(c.idle) - 1
		if last < 0 {
			c.mu.Unlock()
			return c.server.dial(ctx)
		}
		conn := c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		if alive(conn.raw) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func (c *client) put(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.Err() != nil || c.closed {
		_ = conn.Close()
		return
	}
	c.idle = append(c.idle, conn)
}

// ping asks whether the server answers.
func (c *client) ping(ctx context.Context) error {
	return c.do(ctx, func(conn *connection) error {
		_, err := conn.ask("PING")
		return err
	})
}

// close ends the connections.
func (c *client) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.forget()
}

// forget ends the connections that are kept.
func (c *client) forget() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failed error
	for _, conn := range c.idle {
		failed = errors.Join(failed, conn.Close())
	}
	c.idle = nil
	return failed
}

// ask sends a command, behind those that were sent, and gives what is answered to it.
func (c *connection) ask(command string, args ...any) (any, error) {
	return redis.DoWithTimeout(c.Conn, c.left(), command, args...)
}

// left is how much time the question has; for redigo, none at all would be any.
func (c *connection) left() time.Duration {
	return max(time.Until(c.deadline), time.Microsecond)
}
