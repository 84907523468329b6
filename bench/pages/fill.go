// Package pages measures what the console's pages cost on a large ledger: lists by each filter, at their
// beginning and deep inside, the sums of the usage page, and pruning beside writes. It uses the store, not
// the programs.
package pages

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// base is how many requests are made up; the rest are copies of them.
const base = 100_000

// week is how many days the rows are spread over.
const week = 7

// apart is how far apart the copies of a row begin.
const apart = 600 * time.Millisecond

// Fill makes up a week at the location and copies each of its rows, until there are rows of them. The copies of
// a row follow it, so that rows are numbered in about the order of their times, as cores number them.
func Fill(ctx context.Context, location string, rows int64, now time.Time) error {
	db, err := store.Open(ctx, store.Config{Location: location, RelaxLedger: true})
	if err != nil {
		return err
	}
	_, err = demo.Fill(ctx, demo.Into{Keys: db.Keys(), Ledger: db.Ledger()}, demo.Week{Seed: 1, Requests: int(min(rows, base)), Days: week, End: now.Add(-2 * time.Hour)})
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make up a week: %w", err)
	}
	if err := multiply(ctx, location, rows/base); err != nil {
		return fmt.Errorf("copy rows: %w", err)
	}
	if db, err = store.Open(ctx, store.Config{Location: location, RelaxLedger: true}); err != nil {
		return err
	}
	_, err = ledger.RollAll(ctx, db.Ledger(), now)
	return errors.Join(err, db.Close())
}

// multiply replaces each row by so many copies, by the database itself. The triggers that count changes are
// put aside meanwhile, and what they count is counted at once.
func multiply(ctx context.Context, location string, copies int64) error {
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
	pool.SetMaxOpenConns(1) // the words before hold for it
	columns, values, err := copied(ctx, pool)
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	before, after, err := dialect.triggers(ctx, pool)
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	statements := append(append([]string{}, dialect.before...), before...)
	statements = append(statements,
		`CREATE TABLE pages_base AS SELECT * FROM ledger`, //nolint:unqueryvet // whatever columns there are
		`DELETE FROM ledger`, `DELETE FROM ledger_hours`, `DELETE FROM ledger_rollups`,
		`CREATE TABLE pages_copies AS WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < `+strconv.FormatInt(copies, 10)+`) SELECT k FROM n`,
		`INSERT INTO ledger (`+columns+`) SELECT `+values+` FROM pages_base b CROSS JOIN pages_copies`+dialect.order,
		`INSERT INTO ledger_hours (hour, changed, rolled, in_day) SELECT start_time / 3600000000, count(*), -1, -1 FROM ledger GROUP BY 1`,
		`DROP TABLE pages_base`, `DROP TABLE pages_copies`)
	statements = append(append(statements, after...), dialect.after...)
	for _, statement := range statements {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%.80s: %w", statement, err), pool.Close())
		}
	}
	return pool.Close()
}

// copied lists the ledger's columns, and their values in the k-th copy of a row.
func copied(ctx context.Context, pool *sql.DB) (columns, values string, err error) {
	rows, err := pool.QueryContext(ctx, `SELECT * FROM ledger LIMIT 0`) //nolint:unqueryvet // likewise
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", "", err
	}
	for i, name := range names {
		value := "b." + name
		switch name {
		case "number":
			value += " * 1000 + k"
		case "start_time":
			value += fmt.Sprintf(" + k * %d", apart.Microseconds())
		case "request_id", "trace_id":
			value = "CASE WHEN " + value + " = '' THEN '' ELSE " + value + " || k END"
		}
		if i > 0 {
			columns, values = columns+", ", values+", "
		}
		columns, values = columns+name, values+value
	}
	return columns, values, rows.Err()
}

// words are what SQLite and PostgreSQL do not have in common.
type words struct {
	before, after []string
	// order has copies follow their row. PostgreSQL would sort all of them on the disk, and makes them in
	// that order without being told.
	order string
	// triggers gives the statements that put triggers of the ledger aside, and back.
	triggers func(ctx context.Context, pool *sql.DB) (before, after []string, err error)
}

var postgresWords = words{
	before: []string{`SET max_parallel_workers_per_gather = 0`, `SET synchronous_commit = off`},
	after:  []string{`VACUUM ANALYZE ledger`, `ANALYZE`},
	triggers: func(context.Context, *sql.DB) (before, after []string, err error) {
		return []string{`SET session_replication_role = replica`}, []string{`SET session_replication_role = origin`}, nil
	},
}

var sqliteWords = words{
	before:   []string{`PRAGMA synchronous = OFF`, `PRAGMA cache_size = -500000`},
	order:    ` ORDER BY b.process, b.number, k`,
	after:    []string{`PRAGMA wal_checkpoint(TRUNCATE)`},
	triggers: sqliteTriggers,
}

func sqliteTriggers(ctx context.Context, pool *sql.DB) (before, after []string, err error) {
	rows, err := pool.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ledger'`)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, nil, err
		}
		before, after = append(before, `DROP TRIGGER `+name), append(after, text)
	}
	return before, after, rows.Err()
}
