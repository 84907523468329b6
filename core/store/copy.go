package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrCopyDirection is returned for a copy in another direction than from SQLite to PostgreSQL.
var ErrCopyDirection = errors.New("a store is copied from an SQLite file to a PostgreSQL database: give the file by --data or --store, and the URL by --to")

// Copied is a table whose rows were copied.
type Copied struct {
	Table string
	Rows  int64
}

// Copy copies all rows of an SQLite database into a PostgreSQL database: keys, the audit with its
// chain, the ledger with its sums and roll-ups, stored items and the counters of all of them. It
// migrates the PostgreSQL database, which must have no rows yet, and writes in one transaction:
// after an error nothing of the copy is there, unless it is ErrUnknown.
//
// No server may have either database open. The SQLite database is only read, and its schema must
// be the one that this program knows. after is called, with the rows that are written and how
// many there are in all; it may be nil. waits is as in Config.
func Copy(ctx context.Context, from, to string, after func(done, total int64), waits func(Wait)) ([]Copied, error) {
	if IsPostgres(from) || !IsPostgres(to) {
		return nil, ErrCopyDirection
	}
	config, err := parsePostgres(to)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(from)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", from, err)
	}
	if after == nil {
		after = func(int64, int64) {}
	}
	var copied []Copied
	var failed error
	err = withSchema(Config{Location: path, Existing: true}, func(source database) error {
		return exclusively(ctx, path, func() error {
			if err := soleConnection(ctx, path); err != nil {
				return err
			}
			if _, err := pending(ctx, source, MigrateCheck); err != nil {
				return err
			}
			// The transaction does not end with ctx: database/sql would roll it back beside its last
			// statement, and the file would stay open behind the copy.
			return source.view(context.WithoutCancel(ctx), func(read transaction) error {
				copied, failed = copyTo(ctx, read.tx, config, after, waits)
				if failed != nil && ctx.Err() != nil { // the server's words and the network's do not say so
					failed = fmt.Errorf("%w: %w", ctx.Err(), failed)
				}
				return nil
			})
		})
	})
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	return copied, nil
}

// copyTo migrates the PostgreSQL database of config, and fills it from a transaction of SQLite's.
func copyTo(ctx context.Context, from *sql.Tx, config *pgx.ConnConfig, after func(done, total int64), waits func(Wait)) ([]Copied, error) {
	fail := func(err error) error {
		return fmt.Errorf("copy to %s: %w", address(config), postgresReason(config, err))
	}
	if _, err := migratePostgres(ctx, config, MigrateAuto, waits); err != nil {
		return nil, fail(err)
	}
	tables, err := tablesOf(ctx, from)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, forCopy(config))
	if err != nil {
		return nil, fail(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it wrote is committed, or not to be
	into, err := conn.Begin(ctx)
	if err != nil {
		return nil, fail(err)
	}
	defer into.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	copied, err := copyTables(ctx, from, into, tables, after)
	if err != nil {
		return nil, fail(err)
	}
	if err := into.Commit(ctx); err != nil {
		if err = committed(err); errors.Is(err, ErrUnknown) {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, fail(err))
		}
		return nil, fail(err)
	}
	return copied, nil
}

// partitionCopied makes a partition of the ledger, which is empty, for the rows of all days before those that have one, or
// up to the end of today: a default partition with many rows would be read whenever a partition is made.
func partitionCopied(ctx context.Context, into pgx.Tx, now time.Time) error {
	var there bool
	var first string
	if err := into.QueryRow(ctx, `SELECT COALESCE(bool_or(c.relname LIKE 'ledger_before_%'), FALSE), COALESCE(min(c.relname) FILTER (WHERE c.relname ~ '^ledger_[0-9]{8}$'), '')
		FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'ledger'::regclass`).Scan(&there, &first); err != nil || there {
		return err
	}
	until := dayPartition(now.UnixMicro()/microsOfDay + 1)
	if at, err := time.Parse("ledger_20060102", first); err == nil {
		until = dayPartition(at.UnixMicro() / microsOfDay)
	}
	_, err := into.Exec(ctx, fmt.Sprintf(`CREATE TABLE ledger_before_%s PARTITION OF ledger FOR VALUES FROM (MINVALUE) TO (%d)`, strings.TrimPrefix(until.name, "ledger_"), until.from))
	return err
}

// forCopy is the configuration of the connection that copies. A statement has no bound, since a table may have many
// rows; a lock has one, since nobody else uses the database. A server that neither takes rows nor answers is given up.
func forCopy(config *pgx.ConnConfig) *pgx.ConnConfig {
	copying := config.Copy()
	copying.RuntimeParams["application_name"] = "genway store copy"
	bound(copying)
	copying.RuntimeParams["statement_timeout"] = "0"
	return copying
}

// copyTables fills all tables. Their triggers, which count changes and refuse changes of the audit,
// are off meanwhile: what they have counted is copied as well.
func copyTables(ctx context.Context, from *sql.Tx, into pgx.Tx, tables []table, after func(done, total int64)) ([]Copied, error) {
	var total, done int64
	for _, t := range tables {
		total += t.rows
		name := pgx.Identifier{t.name}.Sanitize()
		if _, err := into.Exec(ctx, "ALTER TABLE "+name+" DISABLE TRIGGER USER"); err != nil {
			if sqlState(err) == lockNotAvailable {
				return nil, errors.New("the database is in use by another program, such as another copy: make an empty one, or run it again when that has ended")
			}
			return nil, err
		}
		if t.name == "keys_version" { // which a migration fills
			if _, err := into.Exec(ctx, "DELETE FROM "+name); err != nil {
				return nil, err
			}
		}
		var filled bool
		if err := into.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+name+")").Scan(&filled); err != nil {
			return nil, err
		}
		if filled {
			return nil, fmt.Errorf("the database is in use: its table %s has rows; make an empty one", t.name)
		}
	}
	if err := partitionCopied(ctx, into, time.Now()); err != nil {
		return nil, err
	}
	copied := make([]Copied, 0, len(tables))
	for _, t := range tables {
		if err := t.copy(ctx, from, into, func(rows int64) { after(done+rows, total) }); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, postgresReason(into.Conn().Config(), err))
		}
		done += t.rows
		copied = append(copied, Copied{Table: t.name, Rows: t.rows})
		if _, err := into.Exec(ctx, "ALTER TABLE "+pgx.Identifier{t.name}.Sanitize()+" ENABLE TRIGGER USER"); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// table is one of an SQLite database that is to be copied.
type table struct {
	name    string
	columns []string
	rows    int64
	// next is the number that AUTOINCREMENT gave last; 0 for a table without it.
	next int64
}

// tablesOf lists the tables of records, those that others refer to ahead of them. What migrations
// say of themselves is not among them.
func tablesOf(ctx context.Context, from *sql.Tx) ([]table, error) {
	names, err := texts(ctx, from, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT IN ('`+versionTable+`', 'schema_least') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var ordered []string
	for len(ordered) < len(names) {
		before := len(ordered)
		for _, name := range names {
			referred, err := texts(ctx, from, `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, name)
			if err != nil {
				return nil, err
			}
			missing := slices.ContainsFunc(referred, func(other string) bool { return other != name && !slices.Contains(ordered, other) })
			if !missing && !slices.Contains(ordered, name) {
				ordered = append(ordered, name)
			}
		}
		if len(ordered) == before {
			return nil, fmt.Errorf("tables refer to each other in a circle: %s", strings.Join(names, ", "))
		}
	}
	tables := make([]table, 0, len(ordered))
	for _, name := range ordered {
		t := table{name: name}
		if t.columns, err = texts(ctx, from, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, name); err != nil {
			return nil, err
		}
		if err := from.QueryRowContext(ctx, "SELECT count(*) FROM "+pgx.Identifier{name}.Sanitize()).Scan(&t.rows); err != nil {
			return nil, err
		}
		if err := from.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = ?", name).Scan(&t.next); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// copy fills the table's namesake, and has its identity go on where SQLite's ended.
func (t table) copy(ctx context.Context, from *sql.Tx, into pgx.Tx, after func(rows int64)) error {
	quoted := make([]string, len(t.columns))
	for i, column := range t.columns {
		quoted[i] = pgx.Identifier{column}.Sanitize()
	}
	rows, err := from.QueryContext(ctx, "SELECT "+strings.Join(quoted, ", ")+" FROM "+pgx.Identifier{t.name}.Sanitize()) //nolint:gosec,rowserrcheck // names of the schema, quoted; rowSource gives the error
	if err != nil {
		return err
	}
	defer rows.Close()
	source := &rowSource{rows: rows, values: make([]any, len(t.columns)), after: after}
	written, err := into.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, source)
	switch {
	case err != nil:
		return err
	case written != t.rows:
		return fmt.Errorf("%d of %d rows were written", written, t.rows)
	case t.next == 0:
		return nil
	}
	_, err = into.Exec(ctx, `SELECT setval(pg_get_serial_sequence(table_name, column_name), $2)
		FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'`, t.name, t.next)
	return err
}

// rowSource returns the rows of a query to pgx.
type rowSource struct {
	rows   *sql.Rows
	values []any
	read   int64
	after  func(rows int64)
	err    error
}

// Next is as in pgx.CopyFromSource.
func (s *rowSource) Next() bool {
	if s.err != nil || !s.rows.Next() {
		return false
	}
	into := make([]any, len(s.values))
	for i := range s.values {
		into[i] = &s.values[i]
	}
	s.err = s.rows.Scan(into...)
	for i, value := range s.values {
		if bytes, ok := value.([]byte); ok && bytes == nil {
			s.values[i] = []byte{} // empty, which to pgx is not nil
		}
	}
	s.read++
	s.after(s.read)
	return s.err == nil
}

// Values is as in pgx.CopyFromSource.
func (s *rowSource) Values() ([]any, error) { return s.values, s.err }

// Err is as in pgx.CopyFromSource.
func (s *rowSource) Err() error {
	if s.err != nil {
		return s.err
	}
	return s.rows.Err()
}

// texts is the one column of a query.
func texts(ctx context.Context, from *sql.Tx, query string, args ...any) ([]string, error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
