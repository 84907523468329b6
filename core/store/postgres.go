package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout bounds making a connection, unless the URL has connect_timeout.
	connectTimeout = 5 * time.Second
	// A connection is replaced after maxLifetime, so that a server's successor is
	// found, and closed when it is not used for maxIdle.
	maxLifetime = 30 * time.Minute
	maxIdle     = 5 * time.Minute
)

// settings are the server's settings of a connection, unless the URL has others:
// statements and transactions of a core that is cut off end by themselves, and with
// them their locks.
var settings = map[string]string{
	"application_name":                    "genway",
	"statement_timeout":                   "60s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "60s",
}

// openPostgres opens a PostgreSQL database. A connection that broke is replaced by
// its next use.
func openPostgres(ctx context.Context, cfg Config) (*Store, error) {
	config, err := parsePostgres(cfg.Location)
	if err != nil {
		return nil, err
	}
	if _, err := migratePostgres(ctx, config, cfg.Migrate, cfg.Waits); err != nil {
		return nil, fmt.Errorf("open store %s: %w", address(config), postgresReason(config, err))
	}
	bound(config)
	store := &Store{db: connections(config, maxConns)}
	if cfg.RelaxLedger {
		config = config.Copy()
		config.RuntimeParams["synchronous_commit"] = "off"
	}
	store.writer = connections(config, 1)
	return store, nil
}

// bound adds the settings that the URL does not have, and ends connections to a server that is silent for longer.
func bound(config *pgx.ConnConfig) {
	for name, value := range settings {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	boundSilence(config, silenceTimeout(config))
}

// connections returns a pool, whose connections are made when they are used first.
func connections(config *pgx.ConnConfig, most int, options ...stdlib.OptionOpenDB) database {
	pool := stdlib.OpenDB(*config, options...)
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxLifetime(maxLifetime)
	pool.SetConnMaxIdleTime(maxIdle)
	return database{pool: pool, dialect: &postgresDialect, errs: &errorTracker{address: address(config)}}
}

// address is where a database is, without the password: a URL of all its hosts.
func address(config *pgx.ConnConfig) string {
	var hosts, sockets []string
	add := func(host string, port uint16) {
		to, at := &hosts, net.JoinHostPort(host, strconv.Itoa(int(port)))
		if strings.HasPrefix(host, "/") { // the directory of a unix socket
			to, at = &sockets, host
		}
		if !slices.Contains(*to, at) { // a host is tried with TLS and without
			*to = append(*to, at)
		}
	}
	add(config.Host, config.Port)
	for _, other := range config.Fallbacks {
		add(other.Host, other.Port)
	}
	at := url.URL{Scheme: "postgres", User: url.User(config.User), Host: strings.Join(hosts, ","), Path: "/" + config.Database}
	if len(sockets) > 0 {
		at.RawQuery = "host=" + strings.Join(sockets, ",")
	}
	return at.String()
}

// badURL says what is wrong with a URL without repeating any of it, since a password
// may be anywhere in one that is malformed. The text of pgx is given where the URL
// itself is valid and its password is not in the text.
func badURL(location string, err error) error {
	parsed, parseErr := url.Parse(location)
	if parseErr != nil {
		return errors.New("the PostgreSQL URL is malformed; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE, and characters of the password other than letters, digits and -._~ are written %XX")
	}
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok && e.Unwrap() != nil {
		err = e.Unwrap()
	}
	password, _ := parsed.User.Password()
	text := err.Error()
	for _, secret := range []string{password, parsed.Query().Get("password"), parsed.Query().Get("sslpassword")} {
		if secret != "" && strings.Contains(text, secret) {
			text = "a parameter is not valid"
		}
	}
	return fmt.Errorf("the PostgreSQL URL is not valid: %s", oneLine(text))
}

// postgresReason is what an operator wants to know of an error: the server's words, or
// errors of the network, in one line. An interruption stays one for errors.Is.
func postgresReason(config *pgx.ConnConfig, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("%s (SQLSTATE %s)", oneLine(e.Message), e.Code)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && !lost(err) {
		return errors.New(oneLine(e.Error()))
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", config.ConnectTimeout)
	}
	if e, ok := errors.AsType[*addressError](err); ok {
		err = e.err // whose address the caller adds
	}
	text := connectionReason(err)
	if config.Password != "" {
		text = strings.ReplaceAll(text, config.Password, "[REDACTED]")
	}
	return errors.New(text)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// answerMargin is how much longer than statement_timeout is waited for a server's next bytes: it may be slow to
// notice that the time is over, and what it then says is on its way.
var answerMargin = 5 * time.Second // less in tests

// silenceTimeout is how long a server may be silent: longer than one of its statements may take. statement_timeout is the
// server's own clock: one that has stopped, because its machine is paused or its disk hangs, does not look at
// it, and the network sees nothing wrong. 0 is without end, if the URL has no statement_timeout.
func silenceTimeout(config *pgx.ConnConfig) time.Duration {
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
		return newSilenceConn(conn, within), nil
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

// silenceConn is a connection that is closed when what is waited for does not come.
type silenceConn struct {
	net.Conn
	within time.Duration
	silent atomic.Bool

	mu    sync.Mutex
	waits map[*time.Timer]struct{} // of the Reads under way: of two, while pgx closes a connection that it reads
}

func newSilenceConn(conn net.Conn, within time.Duration) *silenceConn {
	return &silenceConn{Conn: conn, within: within, waits: map[*time.Timer]struct{}{}}
}

// Read waits for as long as the server may be silent. Deadlines are pgx's to set.
func (c *silenceConn) Read(p []byte) (int, error) {
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
func (c *silenceConn) Write(p []byte) (int, error) {
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
func (c *silenceConn) reason(err error) error {
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

// addressError is an error of a PostgreSQL database, with its address: an operator may have several, and the
// network's words, such as "unexpected EOF", name none.
type addressError struct {
	address string
	err     error
}

// addressed adds the address, once. An empty address adds nothing.
func addressed(address string, err error) error {
	if _, ok := errors.AsType[*addressError](err); ok || err == nil || address == "" {
		return err
	}
	return &addressError{address, err}
}

func (e *addressError) Error() string { return "store " + e.address + ": " + connectionReason(e.err) }
func (e *addressError) Unwrap() error { return e.err }

// connectionReason is the text of an error in one line. pgx and database/sql have several texts for a connection
// that the server or the network has ended.
func connectionReason(err error) string {
	if lost(err) {
		return "the connection to the server was lost"
	}
	return oneLine(err.Error())
}

func lost(err error) bool {
	return slices.ContainsFunc([]error{
		io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, pgconn.ErrConnClosed, driver.ErrBadConn,
	}, func(known error) bool { return errors.Is(err, known) })
}
