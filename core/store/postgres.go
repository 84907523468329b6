package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout bounds making a connection, unless the URL has connect_timeout.
	connectTimeout = 5 * time.Second
	// A connection is made anew after maxLifetime, so that a server's successor is
	// found, and closed when it is not used for maxIdle.
	maxLifetime = 30 * time.Minute
	maxIdle     = 5 * time.Minute
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

// openPostgres opens a PostgreSQL database. A connection that broke is made anew by
// its next use.
func openPostgres(ctx context.Context, cfg Config) (*Store, error) {
	config, err := parsePostgres(cfg.Location)
	if err != nil {
		return nil, err
	}
	if _, err := migratePostgres(ctx, config.Copy(), cfg.Migrate); err != nil {
		return nil, fmt.Errorf("open store %s: %w", address(config), postgresReason(config, err))
	}
	for name, value := range settings {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	boundSilence(config)
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

// connections gives a pool, whose connections are made when they are used first.
func connections(config *pgx.ConnConfig, most int) database {
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxLifetime(maxLifetime)
	pool.SetConnMaxIdleTime(maxIdle)
	return database{pool: pool, dialect: &postgresDialect, seen: &seen{}}
}

// migratePostgres migrates while no other process does. The lock is a transaction's, of
// a connection beside the one that migrates: a dying process cannot leave it behind.
// Nothing is bounded but by ctx, since a migration may have much to do.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, mode Migrate) ([]Migration, error) {
	config.RuntimeParams["application_name"] = "genway migrate"
	for _, unbounded := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[unbounded] = "0"
	}
	db := connections(config, 3) // of the lock, of goose, and of an index that is made beside writers
	defer db.pool.Close()        //nolint:errcheck // what it wrote is committed
	tx, err := lockMigrations(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("wait for others that migrate: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	return migrate(ctx, db, mode)
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
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return errors.New(oneLine(e.Error()))
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", config.ConnectTimeout)
	}
	text := oneLine(err.Error())
	if config.Password != "" {
		text = strings.ReplaceAll(text, config.Password, "[REDACTED]")
	}
	return errors.New(text)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
