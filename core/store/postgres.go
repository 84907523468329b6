package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// bound adds the settings that the URL does not have, and gives up a server that is silent for longer.
func bound(config *pgx.ConnConfig) {
	for name, value := range settings {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	boundSilence(config, silence(config))
}

// connections returns a pool, whose connections are made when they are used first.
func connections(config *pgx.ConnConfig, most int, options ...stdlib.OptionOpenDB) database {
	pool := stdlib.OpenDB(*config, options...)
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxLifetime(maxLifetime)
	pool.SetConnMaxIdleTime(maxIdle)
	return database{pool: pool, dialect: &postgresDialect, seen: &seen{address: address(config)}}
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
// those of the network, in one line. An interruption stays one for errors.Is.
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
		err = e.err // whose address the caller gives
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
