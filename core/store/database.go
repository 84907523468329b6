package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// tries is how often a transaction is made that others are in the way of.
	tries = 8
	// firstMoment is half of what may pass before the second try; it doubles with each.
	firstMoment = time.Millisecond
)

// database is a pool of connections and what to know to talk to it.
type database struct {
	pool *sql.DB
	*dialect
}

func (d database) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return d.pool.QueryContext(ctx, d.bind(statement), args...)
}

func (d database) row(ctx context.Context, statement string, args ...any) *sql.Row {
	return d.pool.QueryRowContext(ctx, d.bind(statement), args...)
}

// exec runs one statement, a transaction of its own, and reports how many rows it
// changed.
func (d database) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = d.again(ctx, func() error {
		changed, err = affected(d.pool.ExecContext(ctx, d.bind(statement), args...))
		return err
	})
	return changed, err
}

// change runs do in a transaction that no other one of change runs beside, in any
// process: what do reads stays true until it is committed. do may run several times
// and must have no other effects. Everything that keys.Store changes goes through it.
func (d database) change(ctx context.Context, do func(transaction) error) error {
	return d.again(ctx, func() error {
		tx, err := d.pool.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
		if d.lock != "" {
			if _, err := tx.ExecContext(ctx, d.lock); err != nil {
				return fmt.Errorf("lock: %w", err)
			}
		}
		if err := do(transaction{tx: tx, dialect: d.dialect}); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		return nil
	})
}

// alone runs do in a transaction that sees one state of the database: where another one
// has changed since what do changes, it is run again. do must have no other effects.
func (d database) alone(ctx context.Context, do func(transaction) error) error {
	return d.again(ctx, func() error {
		tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: d.isolation})
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
		if err := do(transaction{tx: tx, dialect: d.dialect}); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// again runs do until others are not in its way, tries times at most, after a moment
// that grows and that no two choose alike.
func (d database) again(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == tries || !d.retry(err) {
			return err
		}
		moment := time.NewTimer(rand.N(firstMoment << try)) //nolint:gosec // a wait, no secret
		select {
		case <-moment.C:
		case <-ctx.Done():
			moment.Stop()
			return err
		}
	}
}

// transaction is one that is running.
type transaction struct {
	tx *sql.Tx
	*dialect
}

func (t transaction) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, t.bind(statement), args...)
}

func (t transaction) row(ctx context.Context, statement string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, t.bind(statement), args...)
}

func (t transaction) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	return affected(t.tx.ExecContext(ctx, t.bind(statement), args...))
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
