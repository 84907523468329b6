package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// tries is how often a transaction is made at least that others are in the way of, and
	// tryFor for how long: those that fail at once are made more often.
	tries  = 8
	tryFor = 2 * time.Second
	// firstMoment is half of what may pass before the second try; it doubles with each, up to
	// longestMoment.
	firstMoment   = time.Millisecond
	longestMoment = 256 * time.Millisecond
)

// database is a pool of connections and what to know to talk to it.
type database struct {
	pool *sql.DB
	*dialect
	seen *seen
	// statements are those that stay prepared; nil for none.
	statements *kept
}

func (d database) query(ctx context.Context, statement string, args ...any) (*result, error) {
	list, err := d.pool.QueryContext(ctx, d.bind(statement), args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, d.seen}, d.seen.note(err)
}

func (d database) row(ctx context.Context, statement string, args ...any) row {
	return row{d.pool.QueryRowContext(ctx, d.bind(statement), args...), d.seen}
}

// exec runs one statement, a transaction of its own, and reports how many rows it
// changed.
func (d database) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = d.again(ctx, func() error {
		changed, err = affected(d.send(ctx, statement, args))
		return err
	})
	return changed, d.seen.note(err)
}

// send sends a statement once. Of one without arguments pgx says that it was not sent when the connection ends
// before the answer (conn.Exec in its simple protocol), so that sql.DB would send it again while the server may
// still run it. An sql.Conn does not.
func (d database) send(ctx context.Context, statement string, args []any) (sql.Result, error) {
	if len(args) > 0 {
		return d.pool.ExecContext(ctx, d.bind(statement), args...)
	}
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	return conn.ExecContext(ctx, d.bind(statement))
}

// change runs do in a transaction that no other one of change runs beside, in any
// process: what do reads stays true until it is committed. do may run several times
// and must have no other effects. Everything that keys.Store changes goes through it.
func (d database) change(ctx context.Context, do func(transaction) error) error {
	return d.again(ctx, func() error { return d.locked(ctx, do) })
}

// changeOnce is change of a do that runs once at most: it is waited for others until do begins,
// and nothing is tried again after that.
func (d database) changeOnce(ctx context.Context, do func(transaction) error) error {
	var done error
	err := d.again(ctx, func() error {
		began := false
		err := d.locked(ctx, func(tx transaction) error {
			began = true
			return do(tx)
		})
		if began {
			done = err
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return done
}

// locked runs do in a transaction that no other one of change runs beside, once.
func (d database) locked(ctx context.Context, do func(transaction) error) error {
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", d.seen.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	if d.lock != "" {
		if _, err := tx.ExecContext(ctx, d.lock); err != nil {
			return fmt.Errorf("lock: %w", d.seen.note(err))
		}
	}
	if err := do(transaction{tx: tx, dialect: d.dialect, seen: d.seen}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", committed(d.seen.note(err)))
	}
	return nil
}

// isolated runs do in a transaction that sees one state of the database. If another transaction has
// changed the same rows since, do is run again, so it must have no other effects.
func (d database) isolated(ctx context.Context, do func(transaction) error) error {
	return d.again(ctx, func() error { return d.once(ctx, d.isolation, do) })
}

// once runs do in a transaction, once.
func (d database) once(ctx context.Context, isolation sql.IsolationLevel, do func(transaction) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", d.seen.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	if err := do(transaction{tx: tx, dialect: d.dialect, seen: d.seen}); err != nil {
		return err
	}
	return d.seen.note(tx.Commit())
}

// view runs do in a transaction that only reads, and sees one state of the database. Writers
// go on.
func (d database) view(ctx context.Context, do func(transaction) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: d.isolation, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", d.seen.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	return do(transaction{tx: tx, dialect: d.dialect, seen: d.seen})
}

// again runs do until others are not in its way, tries times or for tryFor, whichever is more, after a
// moment that grows and that no two choose alike.
func (d database) again(ctx context.Context, do func() error) error {
	begin := time.Now()
	for try := 1; ; try++ {
		err := do()
		if err == nil || try >= tries && time.Since(begin) >= tryFor || !d.retry(err) {
			return err
		}
		moment := time.NewTimer(rand.N(min(firstMoment<<min(try, 20), longestMoment))) //nolint:gosec // a wait, no secret
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
	seen *seen
}

func (t transaction) query(ctx context.Context, statement string, args ...any) (*result, error) {
	list, err := t.tx.QueryContext(ctx, t.bind(statement), args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, t.seen}, t.seen.note(err)
}

func (t transaction) row(ctx context.Context, statement string, args ...any) row {
	return row{t.tx.QueryRowContext(ctx, t.bind(statement), args...), t.seen}
}

func (t transaction) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	changed, err = affected(t.tx.ExecContext(ctx, t.bind(statement), args...))
	return changed, t.seen.note(err)
}

// roomy runs do with more of the database in memory than at other times, for do that writes
// many rows in no order: pages of indexes would be written and read again and again otherwise.
func (t transaction) roomy(ctx context.Context, do func() error) error {
	if t.room == "" {
		return do()
	}
	if _, err := t.exec(ctx, t.room); err != nil {
		return fmt.Errorf("make room: %w", err)
	}
	// A transaction that has ended meanwhile leaves the bound as it is, which is harmless.
	defer t.exec(ctx, t.noRoom) //nolint:errcheck // see above
	return do()
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
