package pages

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/genway/genway/core/store"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// multiply replaces each row by so many copies, by the database itself. The triggers that count changes are
// put aside meanwhile, and all sums are taken away: the store makes them again, from the rows.
func multiply(ctx context.Context, location string, copies int64) (err error) {
	if copies < 2 {
		return nil
	}
	driver, dialect := "sqlite", sqliteWords
	if store.IsPostgres(location) {
		driver, dialect = "pgx", postgresWords
	}
	pool, err := sql.Open(driver, location)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx) // the transaction and the words before are its
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	columns, values, err := copied(ctx, conn, copies)
	if err != nil {
		return err
	}
	aside, back, err := dialect.aside(ctx, conn)
	if err != nil {
		return err
	}
	statements := append(append([]string{}, dialect.before...), `BEGIN`,
		`CREATE TABLE pages_base AS SELECT * FROM ledger`, //nolint:unqueryvet // whatever columns there are
		`CREATE TABLE pages_copies AS WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < `+strconv.FormatInt(copies, 10)+`) SELECT k FROM n`)
	statements = append(statements, aside...)
	statements = append(statements, dialect.empty, `DELETE FROM ledger_hours`, `DELETE FROM ledger_rollups`, `DELETE FROM ledger_spent`,
		`INSERT INTO ledger (`+columns+`) SELECT `+values+` FROM pages_base b CROSS JOIN pages_copies`,
		`INSERT INTO ledger_spent (day, process, key_id, owner, cost) SELECT `+started+` / 86400000000, process, key_id, owner, sum(cost) FROM pages_base b CROSS JOIN pages_copies
			WHERE outcome NOT IN ('open', 'interrupted') AND cost > 0 GROUP BY 1, 2, 3, 4`,
		`DROP TABLE pages_base`, `DROP TABLE pages_copies`)
	statements = append(append(append(statements, back...), `COMMIT`), dialect.after...)
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
	}
	return nil
}

// started is when the k-th copy of a row began.
var started = fmt.Sprintf("(b.start_time + k * %d)", apart.Microseconds())

// copied lists the ledger's columns, and their values in the k-th copy of a row.
func copied(ctx context.Context, conn *sql.Conn, copies int64) (columns, values string, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT * FROM ledger LIMIT 0`) //nolint:unqueryvet // likewise
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", "", err
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "b." + name
		switch name {
		case "number":
			list[i] = fmt.Sprintf("b.number * %d + k", copies)
		case "start_time":
			list[i] = started
		case "request_id", "trace_id":
			list[i] = "CASE WHEN b." + name + " = '' THEN '' ELSE b." + name + " || k END"
		}
	}
	return strings.Join(names, ", "), strings.Join(list, ", "), rows.Err()
}

// words are what SQLite and PostgreSQL do not have in common.
type words struct {
	before, after []string
	// empty takes all rows of the ledger away.
	empty string
	// aside returns the statements that put aside what makes writing slow, and those that bring it back.
	aside func(ctx context.Context, conn *sql.Conn) (aside, back []string, err error)
}

// postgresWords make the ledger a new file, of which PostgreSQL writes no log where wal_level is minimal, without
// indexes but that of the primary key, and make the others of all rows at once.
var postgresWords = words{
	before: []string{`SET max_parallel_workers_per_gather = 0`, `SET maintenance_work_mem = '512MB'`},
	after:  []string{`VACUUM ANALYZE`},
	empty:  `TRUNCATE ledger`,
	aside: func(ctx context.Context, conn *sql.Conn) (aside, back []string, err error) {
		aside, back, err = asides(ctx, conn, `SELECT quote_ident(c.relname), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
			WHERE i.indrelid = 'ledger'::regclass AND NOT i.indisprimary`, `DROP INDEX `)
		return append(aside, `SET session_replication_role = replica`), append(back, `SET session_replication_role = origin`), err
	},
}

// sqliteWords write without a journal, each page once.
var sqliteWords = words{
	before: []string{`PRAGMA journal_mode = OFF`, `PRAGMA synchronous = OFF`, `PRAGMA cache_size = -500000`},
	after:  []string{`PRAGMA journal_mode = WAL`},
	empty:  `DELETE FROM ledger`,
	aside: func(ctx context.Context, conn *sql.Conn) (aside, back []string, err error) {
		return asides(ctx, conn, `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ledger'`, `DROP TRIGGER `)
	},
}

// asides returns the statements that drop what a query names, and those that make it again, which it has as well.
func asides(ctx context.Context, conn *sql.Conn, query, drop string) (dropped, made []string, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, nil, err
		}
		dropped, made = append(dropped, drop+name), append(made, text)
	}
	return dropped, made, rows.Err()
}
