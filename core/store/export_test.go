package store

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/ledger"
)

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

// TriesAgain reports whether an SQLite error is of those after which a transaction is
// made again.
func TriesAgain(err error) bool { return sqliteDialect.retry(err) }

// ReportPlan is the database's plan of a report, a line a step. PostgreSQL is told to
// read whole tables only where it must: it would read a small one in any case.
func (s *Store) ReportPlan(t testing.TB, query ledger.Query, postgres bool) string {
	t.Helper()
	statement, args, err := reportStatement(query, plainSum)
	if err != nil {
		t.Fatal(err)
	}
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
