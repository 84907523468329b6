package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// AnswerInASecond makes tests wait less for servers that are still.
func AnswerInASecond() { answerMargin = time.Second }

// Setting is the value of a server's setting in a connection, or in the ledger's.
func (s *Store) Setting(t testing.TB, name string, ledger bool) (value string) {
	t.Helper()
	db := s.db
	if ledger {
		db = s.writer
	}
	if err := db.row(t.Context(), "SHOW "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// AwaitMigrations waits for others that migrate a PostgreSQL database, and calls waits so often.
func AwaitMigrations(ctx context.Context, location string, every time.Duration, waits func(Wait)) error {
	config, err := parsePostgres(location)
	if err != nil {
		return err
	}
	db := connections(config, 2)
	defer db.pool.Close()
	watch := &migrationWatch{db: db, every: every, waits: waits}
	return watch.during(ctx, func(ctx context.Context) error {
		conn, err := db.pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := watch.SessionLock(ctx, conn); err != nil {
			return err
		}
		return watch.SessionUnlock(ctx, conn)
	})
}

// TriesAgain reports whether an SQLite error is of those after which a transaction is
// made again.
func TriesAgain(err error) bool { return sqliteDialect.retry(err) }

// ReportPlan is the database's plan of a report, a line a step.
func (s *Store) ReportPlan(t testing.TB, query ledger.Query, postgres bool) string {
	t.Helper()
	var statement part
	if err := s.db.view(t.Context(), func(tx transaction) error {
		parts, err := reportParts(t.Context(), tx, query, plainSum)
		statement = reportOf(query, plainSum, parts)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s.explained(t, postgres, statement.statement, statement.args...)
}

// SearchPlans are the database's plans of the statements of a page.
func (s *Store) SearchPlans(t testing.TB, filter ledger.Filter, after *ledger.Position, from int64, postgres bool) (plans []string) {
	t.Helper()
	asked := searchOf(&filter, after, s.db.rowValues)
	if statement, args := asked.bound(); statement != "" {
		plans = append(plans, s.explained(t, postgres, statement, args...))
	}
	rest, args := asked.page(from, 101)
	return append(plans, s.explained(t, postgres, "SELECT "+columnNames+", process FROM ledger"+rest, args...))
}

// FailuresPlan is the database's plan of a count of failures.
func (s *Store) FailuresPlan(t testing.TB, since, until time.Time, postgres bool) string {
	t.Helper()
	statement, args := failuresOf(since, until, scanned)
	return s.explained(t, postgres, statement, args...)
}

// FailuresOf counts failures as Failures does, of most entries and one more.
func (s *Store) FailuresOf(ctx context.Context, since, until time.Time, most int) (ledger.Failures, error) {
	return ledgerStore{db: s.db}.failures(ctx, since, until, most)
}

// explained returns the database's plan of a statement, with one line for each step. The setting
// enable_seqscan is off in PostgreSQL, which otherwise scans small tables whatever their indexes.
func (s *Store) explained(t testing.TB, postgres bool, statement string, args ...any) string {
	t.Helper()
	tx, err := s.db.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	explain := "EXPLAIN QUERY PLAN "
	if postgres {
		explain = "EXPLAIN "
		if _, err := tx.ExecContext(t.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := tx.QueryContext(t.Context(), s.db.bind(explain+statement), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		step := make([]any, len(columns)) // the last one is its text
		for i := range step {
			step[i] = new(string)
		}
		if err := rows.Scan(step...); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(*step[len(step)-1].(*string) + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// The statements that look for what dead processes left open.
const (
	InterruptDead = `UPDATE ledger SET outcome = 'interrupted' WHERE outcome = 'open' AND process ` + ofOtherDead
	InterruptOne  = `UPDATE ledger SET outcome = 'interrupted' WHERE outcome = 'open' AND process ` + ofProcess
	CountLeft     = countLeft
	AheadOfTime   = aheadOfTime
)

// Plan is SQLite's plan of a statement, with so many of the arguments as it has.
func (s *Store) Plan(t testing.TB, statement string, args ...any) (steps []string) {
	t.Helper()
	rows, err := s.db.pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args[:strings.Count(statement, "?")]...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var step string
		if err := rows.Scan(&n, &n, &n, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// Counted is the same store, whose statements are counted as they are made; those that begin and end
// transactions are not.
func (s *Store) Counted() (counted *Store, statements *atomic.Int64) {
	statements = &atomic.Int64{}
	counting := *s.db.dialect
	counting.bind = func(statement string) string {
		statements.Add(1)
		return s.db.bind(statement)
	}
	counted = &Store{db: s.db, writer: s.writer, rows: s.rows, file: s.file}
	counted.db.dialect = &counting
	return counted, statements
}

// Written is the same store, which returns the statements that it makes.
func (s *Store) Written() (written *Store, statements *[]string) {
	statements = &[]string{}
	writing := *s.db.dialect
	writing.bind = func(statement string) string {
		*statements = append(*statements, statement)
		return s.db.bind(statement)
	}
	written = &Store{db: s.db, writer: s.writer, rows: s.rows, file: s.file}
	written.db.dialect = &writing
	return written, statements
}

// Exclusively runs do as a restore does: while no server may open the file.
func Exclusively(t testing.TB, path string, do func()) {
	t.Helper()
	if err := exclusively(t.Context(), path, func() error { do(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// Whole writes a file as Backup and Restore do.
func Whole(ctx context.Context, file string, write func(partial string) error) error {
	return writeAtomically(ctx, file, write)
}
