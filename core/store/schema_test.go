//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/store/storetest"
)

// Reading the schema creates nothing: no file, no table.
func TestReadSchemaChangesNothing(t *testing.T) {
	onEachEmpty(t, func(t *testing.T, location string) {
		schema, err := store.ReadSchema(t.Context(), store.Config{Location: location})
		if err != nil || schema.Version != 0 || len(schema.Pending) == 0 || schema.Pending[len(schema.Pending)-1].Version != schema.Known {
			t.Fatalf("got version %d, known %d, %d pending, %v", schema.Version, schema.Known, len(schema.Pending), err)
		}
		if store.IsPostgres(location) {
			if tables := dump(t, location); tables != "" {
				t.Errorf("there are tables: %s", tables)
			}
		} else if _, err := os.Stat(location); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a file: %v", err)
		}
		made, err := store.MigrateUp(t.Context(), store.Config{Location: location})
		if err != nil || len(made) != len(schema.Pending) {
			t.Fatalf("%d migrations made, want %d; %v", len(made), len(schema.Pending), err)
		}
		if made, err = store.MigrateUp(t.Context(), store.Config{Location: location}); err != nil || len(made) > 0 {
			t.Errorf("%d migrations made twice; %v", len(made), err)
		}
		if schema, err = store.ReadSchema(t.Context(), store.Config{Location: location, Existing: true}); err != nil || schema.Version != schema.Known || len(schema.Pending) > 0 || !schema.Compatible() {
			t.Errorf("afterwards it is %+v, %v", schema, err)
		}
	})
}

// A program that may not migrate says that it needs it; one that must not look opens what
// is there.
func TestMigrateModes(t *testing.T) {
	onEachEmpty(t, func(t *testing.T, location string) {
		for mode, want := range map[store.Migrate]error{store.MigrateCheck: store.ErrPending, store.MigrateOff: nil} {
			s, err := store.Open(t.Context(), store.Config{Location: location, Migrate: mode})
			if err == nil {
				err = s.Close()
			}
			if !errors.Is(err, want) && (want == nil || err == nil || !strings.Contains(err.Error(), want.Error())) {
				t.Errorf("%s: got %v, want %v", mode, err, want)
			}
		}
		if err := open(t, location).Close(); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), store.Config{Location: location, Migrate: store.MigrateCheck})
		if err != nil {
			t.Fatalf("an up-to-date schema: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// expand does to a schema what a next release may: it adds columns, a table and an index.
func expand(t testing.TB, location string) {
	t.Helper()
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, location)
	for _, table := range []string{"keys", "audit", "ledger", "ledger_processes", "ledger_days", "ledger_spent", "ledger_hours", "ledger_rollups", "items", "captures"} {
		run(t, db, `ALTER TABLE `+table+` ADD COLUMN next_release INTEGER NOT NULL DEFAULT 7`)
	}
	run(t, db, `CREATE TABLE next_release (id INTEGER NOT NULL PRIMARY KEY)`,
		`CREATE INDEX ledger_next_release ON ledger (next_release)`,
		`INSERT INTO genway_schema (version_id, is_applied) VALUES (9999, TRUE)`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Everything works on a database that the next release has migrated.
func TestSuitesOnNextSchema(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		expand(t, location)
		schema, err := store.ReadSchema(t.Context(), store.Config{Location: location})
		if err != nil || schema.Version != 9999 || !schema.Compatible() || len(schema.Pending) > 0 {
			t.Fatalf("got %+v, %v", schema, err)
		}
	})
	expanded := func(t *testing.T, fresh func(testing.TB) string) string {
		location := fresh(t)
		expand(t, location)
		return location
	}
	// A database of PostgreSQL for each test of a suite takes minutes.
	t.Run("SQLite/keys", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Database {
			location := expanded(t, newFile)
			return func(t *testing.T) storetest.Keys { return open(t, location) }
		})
	})
	t.Run("SQLite/ledger", func(t *testing.T) {
		storetest.RunLedger(t, func(t *testing.T) storetest.LedgerDatabase {
			location := expanded(t, newFile)
			return func(t *testing.T) *store.Store { return open(t, location) }
		})
	})
	for kind, fresh := range kinds {
		t.Run(kind+"/items", func(t *testing.T) {
			location := expanded(t, fresh)
			storetest.RunItems(t, func(t *testing.T) (items.Store, func() error) {
				s := open(t, location)
				return s.Items(), s.Close
			})
		})
		t.Run(kind+"/rows", func(t *testing.T) {
			s := opened(t, expanded(t, fresh))
			create(t, s)
			process, err := s.Ledger().Begin(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			entry := &ledger.Entry{Number: 1, Request: ledger.Request{ID: "req_1", Model: "m", Start: time.Now()}, Result: ledger.Result{Outcome: ledger.OK}}
			if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{entry}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Both schemas have the same tables, columns in the same order, defaults and indexes. PostgreSQL's ledger has start_time,
// the column of its partitions, in its primary key.
func TestSchemasAreAlike(t *testing.T) {
	described := map[string]string{}
	for kind, fresh := range kinds {
		location := fresh(t)
		opened(t, location)
		queries := []string{
			`SELECT m.name || '.' || c.cid || ' ' || c.name || ' ' || c.type || CASE c."notnull" WHEN 1 THEN ' NOT NULL' ELSE '' END || COALESCE(' DEFAULT ' || c.dflt_value, '')
				FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name NOT IN ('genway_schema', 'sqlite_sequence')`,
			`SELECT m.name || ' primary key ' || (SELECT group_concat(c.name, ', ' ORDER BY c.pk) FROM pragma_table_info(m.name) AS c WHERE c.pk > 0)
				FROM sqlite_master AS m WHERE m.type = 'table' AND m.name NOT IN ('genway_schema', 'sqlite_sequence', 'schema_least')`,
			`SELECT tbl_name || ' index ' || name || ' ' || (SELECT group_concat(c.name, ', ' ORDER BY c.seqno) FROM pragma_index_info(m.name) AS c) || CASE WHEN sql LIKE '% WHERE %' THEN ' partial' ELSE '' END
				FROM sqlite_master AS m WHERE type = 'index' AND sql IS NOT NULL`,
		}
		if store.IsPostgres(location) {
			const ours = `FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace AND n.nspname = 'public' `
			const where = ` AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND t.relname <> 'genway_schema'`
			queries = []string{
				`SELECT t.relname || '.' || (c.attnum - 1) || ' ' || c.attname || ' ' || CASE format_type(c.atttypid, NULL) WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB' WHEN 'text' THEN 'TEXT' ELSE '?' END
					|| CASE WHEN c.attnotnull THEN ' NOT NULL' ELSE '' END || COALESCE(' DEFAULT ' || replace(pg_get_expr(d.adbin, d.adrelid), '::text', ''), '')
					` + ours + `JOIN pg_attribute AS c ON c.attrelid = t.oid AND c.attnum > 0 LEFT JOIN pg_attrdef AS d ON d.adrelid = t.oid AND d.adnum = c.attnum WHERE TRUE` + where,
				`SELECT t.relname || CASE WHEN i.indisprimary THEN ' primary key ' ELSE ' index ' || x.relname || ' ' END
					|| replace((SELECT string_agg(a.attname, ', ' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY AS k (num, n) JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k.num),
						CASE WHEN i.indisprimary AND t.relname = 'ledger' THEN ', start_time' ELSE '?' END, '') || CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
					` + ours + `JOIN pg_index AS i ON i.indrelid = t.oid JOIN pg_class AS x ON x.oid = i.indexrelid WHERE x.relname <> 'keys_hash_key'` + where,
			}
		}
		db := raw(t, location)
		var lines []string
		for _, query := range queries {
			lines = append(lines, column(t, db, query)...)
		}
		slices.Sort(lines)
		described[kind] = strings.Join(lines, "")
	}
	if diff := cmp.Diff(described["SQLite"], described["PostgreSQL"]); diff != "" || strings.Count(described["SQLite"], "\n") < 150 {
		t.Errorf("%s\n(-SQLite +PostgreSQL)\n%s", described["SQLite"], diff)
	}
}

// dump lists what a database has: tables and their columns, indexes and triggers.
func dump(t testing.TB, location string) string {
	t.Helper()
	queries := []string{`SELECT type || ' ' || name || ': ' || sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'genway_schema' AND name NOT LIKE 'sqlite%'`}
	if store.IsPostgres(location) {
		queries = []string{
			`SELECT 'table ' || table_name || '.' || column_name || ': ' || data_type || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || column_default, '')
				FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'genway_schema'`,
			`SELECT 'index ' || indexname || ': ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'genway_schema'`,
			`SELECT 'trigger ' || tgname || ': ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`,
			`SELECT 'function ' || proname || ': ' || prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
		}
	}
	db := raw(t, location)
	var lines []string
	for _, query := range queries {
		lines = append(lines, column(t, db, query)...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// trailing are blanks at the end of a line.
var trailing = regexp.MustCompile(` +\n`)

func column(t testing.TB, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, trailing.ReplaceAllString(value+"\n", "\n"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
