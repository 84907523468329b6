package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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
	errs *errorTracker
	// statements are those that stay prepared; nil for none.
	statements *statementCache
}

func (d database) query(ctx context.Context, statement string, args ...any) (*result, error) {
	list, err := d.pool.QueryContext(ctx, d.bind(statement), args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, d.errs}, d.errs.note(err)
}

func (d database) row(ctx context.Context, statement string, args ...any) row {
	return row{d.pool.QueryRowContext(ctx, d.bind(statement), args...), d.errs}
}

// exec runs one statement, a transaction of its own, and reports how many rows it
// changed.
func (d database) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = d.again(ctx, func() error {
		changed, err = affected(d.send(ctx, statement, args))
		return err
	})
	return changed, d.errs.note(err)
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
		return fmt.Errorf("begin: %w", d.errs.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	if d.lock != "" {
		if _, err := tx.ExecContext(ctx, d.lock); err != nil {
			return fmt.Errorf("lock: %w", d.errs.note(err))
		}
	}
	if err := do(transaction{tx: tx, dialect: d.dialect, errs: d.errs}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", committed(d.errs.note(err)))
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
		return fmt.Errorf("begin: %w", d.errs.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	if err := do(transaction{tx: tx, dialect: d.dialect, errs: d.errs}); err != nil {
		return err
	}
	return d.errs.note(tx.Commit())
}

// view runs do in a transaction that only reads, and sees one state of the database. Writers
// go on.
func (d database) view(ctx context.Context, do func(transaction) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: d.isolation, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", d.errs.note(err))
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	return do(transaction{tx: tx, dialect: d.dialect, errs: d.errs})
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
	errs *errorTracker
}

func (t transaction) query(ctx context.Context, statement string, args ...any) (*result, error) {
	list, err := t.tx.QueryContext(ctx, t.bind(statement), args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, t.errs}, t.errs.note(err)
}

func (t transaction) row(ctx context.Context, statement string, args ...any) row {
	return row{t.tx.QueryRowContext(ctx, t.bind(statement), args...), t.errs}
}

func (t transaction) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	changed, err = affected(t.tx.ExecContext(ctx, t.bind(statement), args...))
	return changed, t.errs.note(err)
}

// withLargeCache runs do with more of the database in memory than at other times, for do that writes
// many rows in no order: pages of indexes would be written and read again and again otherwise.
func (t transaction) withLargeCache(ctx context.Context, do func() error) error {
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

// dialect is what the databases do not have in common. Statements are written once, in
// the SQL that both know, with ? for each argument.
type dialect struct {
	goose goose.Dialect
	// migrations is the directory of its migrations.
	migrations string
	// foreign is a query of what a database has that has no schema of Genway yet; empty where
	// programs share databases.
	foreign string
	// hasTable is a query of whether there is a table of a name.
	hasTable string
	// tables is a query of the names of all tables.
	tables string
	// partitions is a query of how many partitions the ledger has; empty where there are none.
	partitions string
	// bind writes a statement's placeholders as the database wants them.
	bind func(statement string) string
	// lock is run first in a transaction that changes what it has read; empty where
	// a transaction excludes others as it begins.
	lock string
	// isolation has a transaction see one state of the database, and fail where another
	// one changes what it does.
	isolation sql.IsolationLevel
	// sum is the sum of a column of integers, saturated: the largest integer where it is
	// more than that.
	sum func(column string) string
	// overflow reports whether a plain sum was too large for an integer.
	overflow func(error) bool
	// room and noRoom are statements that raise the bound on how much of the database a
	// connection has in memory, and put it back; empty where the server sees to that.
	room, noRoom string
	// arrays says that a statement may take a column of values as one argument.
	arrays bool
	// rowValues says that rows of several columns are compared by an index of these columns. Statements are to
	// do so where the planner goes by statistics, and may take another index instead that has to be read for long.
	rowValues bool
	// newest and oldest are statements: the transactions that may have begun are before
	// newest's number, those that have ended are all before oldest's. Empty where a
	// transaction that writes excludes others.
	newest, oldest string
	// taken reports whether a row with the same key exists already.
	taken func(error) bool
	// refused reports whether an error is caused by the values of a statement, and not by the database's
	// state: the statement fails again.
	refused func(error) bool
	// retry reports whether transactions were in each other's way, and
	// that doing it again is right.
	retry func(error) bool
}

// A transaction that begins to write as it begins cannot be refused in its midst because
// another one wrote first: see params.
var sqliteDialect = dialect{
	goose:      goose.DialectSQLite3,
	migrations: "sqlite",
	foreign:    `SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND tbl_name <> '` + versionTable + `' ORDER BY name LIMIT 1`,
	hasTable:   `SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?`,
	tables:     `SELECT name FROM sqlite_master WHERE type = 'table'`,
	bind:       func(statement string) string { return statement },
	// In KiB. With 100,000 keys in the store, 500 KiB had half of what an import took go into
	// writing and reading the same pages again.
	room:   `PRAGMA cache_size = -16384`,
	noRoom: `PRAGMA cache_size = -500`,
	// A plain sum of SQLite's that overflows is an error, which has no code of its own. This
	// one adds the halves of the numbers, and takes a third longer.
	overflow: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code() == sqlite3.SQLITE_ERROR
	},
	sum: func(column string) string {
		low := "sum(" + column + " & 4294967295)"
		high := "(sum(" + column + " >> 32) + (" + low + " >> 32))"
		return "CASE WHEN " + high + " > 2147483647 THEN 9223372036854775807 ELSE (" + high + " << 32) | (" + low + " & 4294967295) END"
	},
	taken: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE)
	},
	refused: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		if !ok {
			return false
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
			return true
		}
		return false
	},
	// Connections that wait for the write lock poll it, so one may find it taken each time until
	// its busy timeout ends.
	retry: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
	},
}

var postgresDialect = dialect{
	goose:      goose.DialectPostgres,
	migrations: "postgres",
	hasTable:   `SELECT to_regclass(?) IS NOT NULL`,
	// Partitions are none, and a database may have thousands of them.
	tables:     `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND pg_table_is_visible(oid)`,
	partitions: `SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('ledger')`,
	bind:       numbered,
	// A plain sum of PostgreSQL's is a numeric.
	overflow: func(err error) bool { return sqlState(err) == "22003" }, // numeric_value_out_of_range
	sum: func(column string) string {
		return "CAST(CASE WHEN sum(" + column + ") > 9223372036854775807 THEN 9223372036854775807 ELSE sum(" + column + ") END AS BIGINT)"
	},
	// Readers go on; who changes waits.
	lock:      `LOCK TABLE keys_version IN EXCLUSIVE MODE`,
	isolation: sql.LevelRepeatableRead,
	arrays:    true,
	rowValues: true,
	newest:    `SELECT txid_snapshot_xmax(txid_current_snapshot())`,
	oldest:    `SELECT txid_snapshot_xmin(txid_current_snapshot())`,
	taken:     func(err error) bool { return sqlState(err) == "23505" },
	refused: func(err error) bool {
		state := sqlState(err)
		if len(state) != 5 {
			return false
		}
		switch state[:2] {
		// Data exception, integrity constraint violation, program limit exceeded, and an
		// exception that a trigger raises.
		case "22", "23", "54", "P0":
			return true
		}
		return false
	},
	retry: func(err error) bool {
		switch sqlState(err) {
		case "40001", "40P01": // serialization_failure, deadlock_detected
			return true
		case "23514": // check_violation: without a constraint's name, the bounds of a partition have changed meanwhile
			e, _ := errors.AsType[*pgconn.PgError](err)
			return e.ConstraintName == ""
		}
		return false
	},
}

// sqlState is the code of an error that the PostgreSQL server has reported, else empty.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// numbered writes each ? as $1, $2 and so on. No statement has one in a text.
func numbered(statement string) string {
	var b strings.Builder
	b.Grow(len(statement) + 16)
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}

// ErrUnknown is returned if a commit was sent and not answered: the store has made all of
// it or nothing.
var ErrUnknown = errors.New("it is not known whether the change was made")

// committed adds ErrUnknown to the error of a commit unless the store has refused it, or it
// was never sent. A FATAL error of PostgreSQL ends the connection, whatever was done before.
func committed(err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	_, local := errors.AsType[*sqlite.Error](err)
	switch {
	case ok && refused.Severity != "FATAL", local, Damaged(err), errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// errorTracker keeps the first error of any statement of a store that says that the database is
// damaged, whatever its caller makes of the error.
type errorTracker struct {
	// address is where a PostgreSQL database is, without the password. It is empty for a file.
	address string
	first   atomic.Pointer[error]
}

// note returns err back, with the address of a PostgreSQL database, and with what to do about it if it says that
// the database is damaged.
func (t *errorTracker) note(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	err = addressed(t.address, err)
	if !Damaged(err) {
		return err
	}
	err = damage(err)
	t.first.CompareAndSwap(nil, &err)
	return err
}

// result is the rows that a statement returns. A caller that reads them to their end checks Err.
type result struct {
	*sql.Rows
	errs *errorTracker
}

// Err is as in sql.Rows.
func (r *result) Err() error { return r.errs.note(r.Rows.Err()) }

// row is the one row of a statement.
type row struct {
	*sql.Row
	errs *errorTracker
}

// Scan is as in sql.Row.
func (r row) Scan(into ...any) error { return r.errs.note(r.Row.Scan(into...)) }

// Damage is the first error of a statement since the store was opened that says that the
// database is damaged; nil is none.
func (s *Store) Damage() error {
	for _, errs := range []*errorTracker{s.db.errs, s.writer.errs} {
		if first := errs.first.Load(); first != nil {
			return *first
		}
	}
	return nil
}

// statementCache holds statements of SQLite that are asked again and again, prepared: to prepare one takes longer than to
// read what it finds. Drivers of PostgreSQL keep what they have prepared themselves. It is for a few texts that
// never change, and safe for concurrent use.
type statementCache struct {
	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

// queryPrepared returns the rows of a statement that stays prepared until the database is closed.
func (d database) queryPrepared(ctx context.Context, statement string, args ...any) (*result, error) {
	if d.statements == nil {
		return d.query(ctx, statement, args...)
	}
	prepared, err := d.statements.of(ctx, d.pool, d.bind(statement)) //nolint:sqlclosecheck // it is closed with the database
	if err != nil {
		return nil, d.errs.note(err)
	}
	list, err := prepared.QueryContext(ctx, args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, d.errs}, d.errs.note(err)
}

func (c *statementCache) of(ctx context.Context, pool *sql.DB, statement string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if prepared, ok := c.prepared[statement]; ok {
		return prepared, nil
	}
	prepared, err := pool.PrepareContext(ctx, statement) //nolint:sqlclosecheck // it is closed with the database
	if err != nil {
		return nil, err
	}
	if c.prepared == nil {
		c.prepared = map[string]*sql.Stmt{}
	}
	c.prepared[statement] = prepared
	return prepared, nil
}
