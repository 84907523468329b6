package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	// lockAsked is how often the connection that holds the lock of migrations is asked whether it is still there.
	lockAsked = time.Second
	// migrationLock is the key of the advisory lock of those who migrate: "genway" in
	// ASCII.
	migrationLock = 0x67656e776179
	// partitionLock is the advisory lock for making and dropping partitions of the ledger.
	partitionLock = migrationLock + 1
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
	if _, err := migratePostgres(ctx, config.Copy(), cfg.Migrate); err != nil {
		return nil, fmt.Errorf("open store %s: %w", address(config), postgresReason(config, err))
	}
	bound(config)
	store := &Store{db: connections(config, maxConns), byDay: &atomic.Bool{}}
	byDay, err := isByDay(ctx, store.db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", address(config), postgresReason(config, err)), store.db.pool.Close())
	}
	store.byDay.Store(byDay)
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

// connections gives a pool, whose connections are made when they are used first.
func connections(config *pgx.ConnConfig, most int, options ...stdlib.OptionOpenDB) database {
	pool := stdlib.OpenDB(*config, options...)
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxLifetime(maxLifetime)
	pool.SetConnMaxIdleTime(maxIdle)
	return database{pool: pool, dialect: &postgresDialect, seen: &seen{address: address(config)}}
}

// migratePostgres migrates while no other process does. The lock is a transaction's, of
// a connection beside the one that migrates: a dying process cannot leave it behind.
// No statement of a migration has a bound, since it may have much to do. The lock's connection has one: when
// its server is silent, or the connection is lost, the migration ends.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, mode Migrate) (made []Migration, err error) {
	within := silence(config)
	idle := cmp.Or(config.RuntimeParams["idle_in_transaction_session_timeout"], settings["idle_in_transaction_session_timeout"])
	config.RuntimeParams["application_name"] = "genway migrate"
	for _, unbounded := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[unbounded] = "0"
	}
	// Of goose, and of an index that is made beside writers. What a migration that was broken off has begun would
	// otherwise go on for as long as it waits for others, and the next one would wait for it.
	db := connections(config, 2, stdlib.OptionAfterConnect(noticeEnd))
	defer db.pool.Close() //nolint:errcheck // what it wrote is committed
	// The lock's connection is used every second. The server ends its transaction when this program cannot be
	// reached any more, so that the next one need not wait for hours.
	config = config.Copy()
	config.RuntimeParams["idle_in_transaction_session_timeout"] = idle
	boundSilence(config, within)
	locks := connections(config, 1)
	defer locks.pool.Close() //nolint:errcheck // it wrote nothing
	tx, err := lockMigrations(ctx, locks)
	if err != nil {
		return nil, fmt.Errorf("wait for others that migrate: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	err = whileLocked(ctx, tx, func(ctx context.Context) error {
		made, err = migrate(ctx, db, mode)
		return err
	})
	return made, err
}

// noticeEnd has the server look, while it runs a statement, for whether this program has ended. Not every server can.
func noticeEnd(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET client_connection_check_interval = '2s'`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// whileLocked runs do, and ends its context when the transaction that holds the lock does not answer: another
// process can have the lock then, and the server may not answer do either.
func whileLocked(ctx context.Context, lock *sql.Tx, do func(context.Context) error) error {
	within, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(lockAsked)
		defer tick.Stop()
		for {
			select {
			case <-within.Done():
				return
			case <-tick.C:
			}
			// An empty statement takes no snapshot, for whose end an index that is made beside writers would wait.
			if _, err := lock.ExecContext(within, "--"); err != nil {
				end(err)
				return
			}
		}
	})
	err := do(within)
	lost := context.Cause(within)
	end(nil)
	watch.Wait()
	if err != nil && lost != nil && ctx.Err() == nil {
		return lost
	}
	return err
}

// lockMigrations begins the transaction that holds the lock. It waits for others in pieces: a transaction that
// waits has a snapshot, and the holder of the lock, when it makes an index beside writers, waits for the end of
// each transaction with an older one.
func lockMigrations(ctx context.Context, db database) (*sql.Tx, error) {
	for {
		tx, err := db.pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		// Statements without arguments leave no portal behind, which would keep a snapshot until the end.
		_, err = tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '200ms'; SELECT pg_advisory_xact_lock(%d)`, migrationLock))
		if err == nil {
			return tx, nil
		}
		if err := errors.Join(err, tx.Rollback()); sqlState(err) != lockNotAvailable {
			return nil, err
		}
	}
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
