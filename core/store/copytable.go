package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

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

// Next is that of pgx.CopyFromSource.
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

// Values is that of pgx.CopyFromSource.
func (s *rowSource) Values() ([]any, error) { return s.values, s.err }

// Err is that of pgx.CopyFromSource.
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
