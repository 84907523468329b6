// Package rows looks into the gateway's database, SQLite or PostgreSQL, as an auditor
// would: it reads the ledger by the columns that docs/ledger.md has, and dumps all there
// is. It must not import the gateway's own packages.
package rows

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite
)

// Row is a request in the ledger.
type Row struct {
	RequestID, KeyID, Protocol, Method, Model, Outcome, Reason, Upstream, Source string
	Attempts, Input, Output, Cost                                                int64
}

// Database is a gateway's.
type Database struct {
	db       *sql.DB
	postgres bool
}

// Open opens the database of a data directory, or of a PostgreSQL URL, for reading. The
// test's end closes it.
func Open(tb testing.TB, data string) *Database {
	tb.Helper()
	driver, source := "sqlite", "file:"+filepath.Join(data, "genway.db")+"?mode=ro&_pragma=busy_timeout(10000)"
	postgres := strings.HasPrefix(data, "postgres://")
	if postgres {
		driver, source = "pgx", data
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(2)
	tb.Cleanup(func() { _ = db.Close() })
	return &Database{db: db, postgres: postgres}
}

// Lock keeps all others from writing into an SQLite file until unlock is called.
func Lock(tb testing.TB, file string) (unlock func()) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.ExecContext(tb.Context(), "BEGIN IMMEDIATE"); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(tb.Context(), "ROLLBACK"); err != nil {
			tb.Fatal(err)
		}
	}
}

const columns = "request_id, key_id, protocol, method, model, outcome, reason, upstream, usage_source, attempts, input_tokens, output_tokens, cost"

// Ledger returns all rows.
func (d *Database) Ledger(tb testing.TB) []Row { tb.Helper(); return d.rows(tb, "") }

// InFlight returns the rows of requests in flight.
func (d *Database) InFlight(tb testing.TB) []Row {
	tb.Helper()
	return d.rows(tb, " WHERE outcome = 'open'")
}

func (d *Database) rows(tb testing.TB, where string) []Row {
	tb.Helper()
	var all []Row
	err := d.query(tb.Context(), "SELECT "+columns+" FROM ledger"+where, func(scan func(...any) error) error {
		var r Row
		err := scan(&r.RequestID, &r.KeyID, &r.Protocol, &r.Method, &r.Model, &r.Outcome, &r.Reason, &r.Upstream, &r.Source, &r.Attempts, &r.Input, &r.Output, &r.Cost)
		all = append(all, r)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// Dump returns the text of each row of each table, a line each: bytes as hexadecimal digits.
func (d *Database) Dump(tb testing.TB) string {
	tb.Helper()
	catalogue := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if d.postgres {
		catalogue = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	var tables []string
	err := d.query(tb.Context(), catalogue, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		tables = append(tables, name)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	var dump strings.Builder
	for _, table := range tables {
		if err := d.dump(tb.Context(), table, &dump); err != nil {
			tb.Fatalf("%s: %v", table, err)
		}
	}
	return dump.String()
}

func (d *Database) dump(ctx context.Context, table string, to *strings.Builder) error {
	found, err := d.db.QueryContext(ctx, `SELECT * FROM "`+table+`"`) //nolint:unqueryvet // whatever there is
	if err != nil {
		return err
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		return err
	}
	for found.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return err
		}
		fmt.Fprintf(to, "%s:", table)
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				v = fmt.Sprintf("%x %q", raw, raw)
			}
			fmt.Fprintf(to, " %s=%v", names[i], v)
		}
		to.WriteByte('\n')
	}
	return found.Err()
}

func (d *Database) query(ctx context.Context, statement string, row func(scan func(...any) error) error) error {
	found, err := d.db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := row(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}
