package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

const (
	// migrationLock is the advisory lock of those who migrate a PostgreSQL database: "genway" in ASCII.
	migrationLock = 0x67656e776179
	// serverAsked is how often the server is asked whether it still answers while it migrates.
	serverAsked = time.Second
	// waitsEvery is how often Config.Waits is called during a wait.
	waitsEvery = time.Minute
	// unlockWithin bounds the unlocking, which the end of the connection does as well.
	unlockWithin = 5 * time.Second
)

// Wait is that a process waits for another one, which migrates the same PostgreSQL database.
type Wait struct {
	// Store is the address of the database, without the password.
	Store string
	// Holder is the process that holds the lock of migrations, by its number in pg_stat_activity, with the name, the
	// user, the address and the time that the server shows to this user.
	Holder string
	// Waited is for how long it is waited already.
	Waited time.Duration
}

// migratePostgres brings the schema up to date if mode allows it, and returns the migrations that were pending. One
// process migrates at a time, by goose's session lock. Where nothing is pending, nothing is locked or written, so that
// a user of the server who may not change the schema will do for it.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, mode Migrate, waits func(Wait)) ([]Migration, error) {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "genway migrate"
	watched := config.Copy()
	bound(watched)
	watch := &migrationWatch{db: connections(watched, 1), every: waitsEvery, waits: waits}
	defer watch.db.pool.Close() //nolint:errcheck // it wrote nothing
	todo, err := pending(ctx, watch.db, mode)
	if err != nil || len(todo) == 0 {
		return nil, err
	}
	// Statements have no bound, since they may have much to do. What a process that was interrupted has begun ends soon,
	// and with it the lock: when the server notices that the process has ended, or its machine does not answer.
	maps.Copy(config.RuntimeParams, map[string]string{
		"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
		"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "4",
	})
	db := connections(config, 1, stdlib.OptionAfterConnect(noticeEnd))
	defer db.pool.Close() //nolint:errcheck // what it wrote is committed
	return todo, watch.during(ctx, func(ctx context.Context) error { return up(ctx, db, goose.WithSessionLocker(watch)) })
}

// noticeEnd has the server look, while it runs a statement, for whether this program has ended. Not every server can.
func noticeEnd(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET client_connection_check_interval = '2s'`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// migrationWatch is goose's session lock, and what watches the server meanwhile over a connection whose silence is
// bounded.
type migrationWatch struct {
	db    database
	every time.Duration
	waits func(Wait)
	held  atomic.Bool
}

// SessionLock waits for others that migrate, without end.
func (w *migrationWatch) SessionLock(ctx context.Context, conn *sql.Conn) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, math.MaxInt32))
	if err != nil {
		return err
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for others that migrate: %w", err)
	}
	w.held.Store(true)
	return nil
}

// SessionUnlock releases the lock.
func (w *migrationWatch) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, unlockWithin)
	defer cancel()
	return locker.SessionUnlock(ctx, conn)
}

// during runs do, and ends its context when the server does not answer.
func (w *migrationWatch) during(ctx context.Context, do func(context.Context) error) error {
	within, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if err := w.watch(within); err != nil {
			end(err)
		}
	})
	err := do(within)
	silent := context.Cause(within)
	end(nil)
	watch.Wait()
	if err != nil && silent != nil && ctx.Err() == nil {
		return silent
	}
	return err
}

// watch asks the server until ctx ends. It calls waits as a wait for another process begins, and then once in every.
func (w *migrationWatch) watch(ctx context.Context) error {
	tick := time.NewTicker(serverAsked)
	defer tick.Stop()
	// A transaction, which is of one connection: sql.DB would try others.
	return w.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		for begun, calls := time.Now(), 0; ; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			waited := time.Since(begun)
			if w.held.Load() || w.waits == nil || waited < time.Duration(calls)*w.every {
				if _, err := tx.exec(ctx, "--"); err != nil {
					return err
				}
				continue
			}
			holder, err := holderOf(ctx, tx, migrationLock)
			if err != nil {
				return err
			}
			if holder != "" && !w.held.Load() {
				w.waits(Wait{Store: w.db.seen.address, Holder: holder, Waited: waited})
				calls++
			}
		}
	})
}

// holderOf describes who holds an advisory lock of the database; empty is nobody.
func holderOf(ctx context.Context, tx transaction, lock int64) (string, error) {
	var number int64
	var name, user, from string
	var since sql.NullTime
	err := tx.row(ctx, `SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.usename::text, ''), COALESCE(host(a.client_addr), ''), a.xact_start
		FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.classid::bigint = ? AND l.objid::bigint = ?
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`, lock>>32, lock&0xffffffff).Scan(&number, &name, &user, &from, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var holder strings.Builder
	fmt.Fprintf(&holder, "process %d", number)
	for _, part := range []struct{ before, text string }{{" (", name}, {" of user ", user}, {" from ", from}} {
		if part.text == "" {
			continue
		}
		holder.WriteString(part.before + part.text)
		if part.before == " (" {
			holder.WriteString(")")
		}
	}
	if since.Valid {
		holder.WriteString(" since " + since.Time.UTC().Format(time.RFC3339))
	}
	return holder.String(), nil
}
