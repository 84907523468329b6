package store

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// answerMargin is how much longer than statement_timeout is waited for a server's next bytes: it may be slow to
// notice that the time is over, and what it then says is on its way.
var answerMargin = 5 * time.Second // less in tests

// silence is how long a server may be silent: longer than one of its statements may take. statement_timeout is the
// server's own clock: one that stands still, because its machine is paused or its disk hangs, does not look at
// it, and the network sees nothing wrong. 0 is without end, if the URL has no statement_timeout.
func silence(config *pgx.ConnConfig) time.Duration {
	text, ok := config.RuntimeParams["statement_timeout"]
	if !ok {
		text = settings["statement_timeout"]
	}
	timeout := statementTimeout(text)
	if timeout <= 0 {
		return 0
	}
	return timeout + answerMargin
}

// boundSilence has connections give a server up that has been silent for so long; 0 sets no bound.
func boundSilence(config *pgx.ConnConfig, within time.Duration) {
	if within <= 0 {
		return
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newAnswering(conn, within), nil
	}
}

// statementTimeout reads a time as PostgreSQL does: milliseconds, or a number with one of its units us, ms, s,
// min, h and d (www.postgresql.org/docs/current/config-setting.html). 0 is none, or one that it would refuse.
func statementTimeout(text string) time.Duration {
	text = strings.ReplaceAll(strings.Trim(text, " '"), " ", "")
	days, ofDays := strings.CutSuffix(text, "d")
	switch {
	case ofDays:
		text = days + "h"
	case strings.HasSuffix(text, "min"):
		text = strings.TrimSuffix(text, "in")
	case strings.TrimRight(text, "0123456789.") == "":
		text += "ms"
	}
	d, err := time.ParseDuration(text)
	if err != nil || ofDays && d > math.MaxInt64/24 {
		return 0
	}
	if ofDays {
		d *= 24
	}
	return d
}

// answering is a connection that is closed when what is waited for does not come.
type answering struct {
	net.Conn
	within time.Duration
	silent atomic.Bool

	mu    sync.Mutex
	waits map[*time.Timer]struct{} // of the Reads under way: of two, while pgx closes a connection that it reads
}

func newAnswering(conn net.Conn, within time.Duration) *answering {
	return &answering{Conn: conn, within: within, waits: map[*time.Timer]struct{}{}}
}

// Read waits for as long as the server may be silent. Deadlines are pgx's to set.
func (c *answering) Read(p []byte) (int, error) {
	wait := time.AfterFunc(c.within, func() {
		c.silent.Store(true)
		_ = c.Close()
	})
	c.mu.Lock()
	c.waits[wait] = struct{}{}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	wait.Stop()
	c.mu.Lock()
	delete(c.waits, wait)
	c.mu.Unlock()
	return n, c.reason(err)
}

// Write begins the wait of a Read anew: a server that takes the rows of a COPY says nothing until their end.
func (c *answering) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	for wait := range c.waits {
		if n > 0 && wait.Stop() {
			wait.Reset(c.within)
		}
	}
	c.mu.Unlock()
	return n, c.reason(err)
}

// reason returns the silence for the error of a connection that was closed for it.
func (c *answering) reason(err error) error {
	if err != nil && c.silent.Load() {
		return silenceError{c.within}
	}
	return err
}

// silenceError is a net.Error: pgx reports the texts of timeouts, and of others only that the connection is
// closed.
type silenceError struct{ within time.Duration }

func (e silenceError) Error() string { return fmt.Sprintf("the database was silent for %s", e.within) }
func (silenceError) Timeout() bool   { return true }
func (silenceError) Temporary() bool { return false }
