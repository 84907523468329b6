package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// The advisory locks of a PostgreSQL database.
const (
	// migrationLock is of those who migrate: "genway" in ASCII.
	migrationLock = 0x67656e776179
	// partitionLock is for making and dropping partitions of the ledger, conversionLock for partitioning it.
	partitionLock  = migrationLock + 1
	conversionLock = migrationLock + 2
)

// lockAsked is how often the connection that holds a lock is asked whether it is still there.
const lockAsked = time.Second

// migratePostgres migrates while no other process does.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, mode Migrate, waits func(Wait)) (made []Migration, err error) {
	err = alone(ctx, config, "genway migrate", 2, func(ctx context.Context, locks database) (*sql.Tx, error) {
		tx, err := awaitLock(ctx, locks, migrationLock, lockWait{every: waitsEvery, waits: waits})
		if err != nil {
			return nil, fmt.Errorf("wait for others that migrate: %w", err)
		}
		return tx, nil
	}, func(ctx context.Context, db database) error {
		made, err = migrate(ctx, db, mode)
		return err
	})
	return made, err
}

// alone runs do in a process of its name, while the transaction that lock begins holds its lock. The transaction is of
// a connection beside those with which do works: a dying process cannot leave the lock behind. No statement of do has a
// bound, since it may have much to do. The lock's connection has one: when its server is silent, or the connection is
// lost, do ends.
func alone(ctx context.Context, config *pgx.ConnConfig, name string, most int, lock func(context.Context, database) (*sql.Tx, error), do func(context.Context, database) error) error {
	within := silence(config)
	idle := cmp.Or(config.RuntimeParams["idle_in_transaction_session_timeout"], settings["idle_in_transaction_session_timeout"])
	config = config.Copy()
	config.RuntimeParams["application_name"] = name
	for _, unbounded := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[unbounded] = "0"
	}
	// What a process that was broken off has begun would otherwise go on for as long as it waits for others, and the
	// next one would wait for it.
	db := connections(config, most, stdlib.OptionAfterConnect(noticeEnd))
	defer db.pool.Close() //nolint:errcheck // what it wrote is committed
	// The lock's connection is used every second. The server ends its transaction when this program cannot be
	// reached any more, so that the next one need not wait for hours.
	config = config.Copy()
	config.RuntimeParams["idle_in_transaction_session_timeout"] = idle
	boundSilence(config, within)
	locks := connections(config, 1)
	defer locks.pool.Close() //nolint:errcheck // it wrote nothing
	tx, err := lock(ctx, locks)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	return whileLocked(ctx, tx, func(ctx context.Context) error { return do(ctx, db) })
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

// lockWait says how to wait for a lock: for at most within, or without end if it is 0. waits, if set, is called when the
// wait begins and then once in every.
type lockWait struct {
	within, every time.Duration
	waits         func(Wait)
}

// awaitLock begins a transaction that holds a lock. It waits for others in pieces: a transaction that waits has a
// snapshot, and the holder of the lock, when it makes an index beside writers, waits for the end of each transaction
// with an older one. The error has the state lockNotAvailable if the lock was not free in time.
func awaitLock(ctx context.Context, db database, lock int64, p lockWait) (*sql.Tx, error) {
	begun, calls := time.Now(), 0
	for {
		tx, err := db.pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		// Statements without arguments leave no portal behind, which would keep a snapshot until the end.
		_, err = tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '200ms'; SELECT pg_advisory_xact_lock(%d)`, lock))
		if err == nil {
			return tx, nil
		}
		waited := time.Since(begun)
		if err := errors.Join(err, tx.Rollback()); sqlState(err) != lockNotAvailable || p.within > 0 && waited >= p.within {
			return nil, err
		}
		if p.waits == nil || waited < time.Duration(calls)*p.every {
			continue
		}
		holder, err := holderOf(ctx, db, lock)
		if err != nil {
			return nil, err
		}
		if holder != "" { // it has not ended meanwhile
			p.waits(Wait{Store: db.seen.address, Holder: holder, Waited: waited})
			calls++
		}
	}
}
