//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// filled makes an SQLite store that has rows in each table, with figures and texts at their
// extremes, and closes it.
func filled(t *testing.T) (location string) {
	t.Helper()
	location = newFile(t)
	s := open(t, location)
	create(t, s)
	now := time.Now().Add(-40 * 24 * time.Hour)
	for range 3 { // the numbers of processes go on behind those that are no more
		process, err := s.Ledger().Begin(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		var batch []*ledger.Entry
		for n := range int64(50) {
			batch = append(batch, &ledger.Entry{Number: n + 1, Request: ledger.Request{
				ID: fmt.Sprintf("req_%d_%d", process, n), KeyID: "key_é鍵", Owner: "o'%s;--\t", Protocol: "messages", Method: "GenerateText",
				Model: "m\U0001F600", Start: now.Add(time.Duration(n) * 24 * time.Hour),
			}, Result: ledger.Result{Outcome: ledger.OK, Cost: math.MaxInt32 + n}})
		}
		if err := s.Ledger().Write(t.Context(), process, batch); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ledger().End(t.Context(), process); err != nil {
			t.Fatal(err)
		}
	}
	edit(t, location, `INSERT INTO items (id, sealed, expires) VALUES (x'00ff', x'', 9223372036854775807)`,
		`UPDATE keys SET name = 'changed' WHERE name = 'default-chat'`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return location
}

// edit runs statements on a store that nobody has open afterwards.
func edit(t *testing.T, location string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", location)
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, statements...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// tableNames lists the tables of an SQLite store that hold records.
func tableNames(t *testing.T, location string) (names []string) {
	t.Helper()
	rows, err := raw(t, location).QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT IN ('genway_schema', 'schema_least') ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// contents is all rows of a table, in some order that both databases have, a line each.
func contents(t *testing.T, location, table string) (lines []string) {
	t.Helper()
	var columns []string
	list, err := raw(t, location).QueryContext(t.Context(), `SELECT * FROM `+table) //nolint:unqueryvet // all of them are compared
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	if columns, err = list.Columns(); err != nil {
		t.Fatal(err)
	}
	for list.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := list.Scan(into...); err != nil {
			t.Fatal(err)
		}
		named := map[string]string{}
		for i, column := range columns {
			named[column] = fmt.Sprintf("%T %v", values[i], values[i])
		}
		lines = append(lines, fmt.Sprint(named)) // sorted by the columns' names
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// Each row of each table is in the copy as it was, and servers go on with the copy: their
// numbers follow, the audit's chain as well, and triggers count what changes.
func TestCopy(t *testing.T) {
	from, to := filled(t), servers.PostgresDatabase(t)
	var done, total int64
	copied, err := store.Copy(t.Context(), from, to, func(d, of int64) { done, total = d, of }, nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows int64
	for _, table := range copied {
		rows += table.Rows
		sorted := cmp.Transformer("sorted", func(lines []string) map[string]int {
			set := map[string]int{}
			for _, line := range lines {
				set[line]++
			}
			return set
		})
		if diff := cmp.Diff(contents(t, from, table.Table), contents(t, to, table.Table), sorted); diff != "" {
			t.Errorf("table %s (-SQLite +PostgreSQL):\n%s", table.Table, diff)
		}
	}
	if names := tableNames(t, from); len(names) != len(copied) {
		t.Errorf("copied %v of %v", copied, names)
	}
	if done != rows || total != rows || rows < 200 {
		t.Errorf("%d rows, and the last call said %d of %d", rows, done, total)
	}

	// The copied rows are in a partition of their own, but those of clocks that are wrong.
	if got := partitionsOf(t, to); len(got) != 2 || !strings.HasPrefix(got[0], "ledger_before_") || !strings.HasPrefix(got[1], "ledger_default ") {
		t.Errorf("rows: %q", got)
	}

	s := opened(t, to)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil || process != 4 {
		t.Errorf("the next process is %d, %v", process, err)
	}
	before := contents(t, to, "keys_version")
	create(t, s)
	if after := contents(t, to, "keys_version"); cmp.Equal(before, after) {
		t.Error("a change of keys was not counted")
	}
	if _, err := raw(t, to).ExecContext(t.Context(), `DELETE FROM audit`); err == nil || !strings.Contains(err.Error(), "append-only") {
		t.Errorf("the audit of the copy can be deleted: %v", err)
	}
}

// A copy is whole or not there: after an error the database can take the next. One that is
// interrupted says so.
func TestCopyIsWholeOrNone(t *testing.T) {
	from, to := filled(t), servers.PostgresDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := store.Copy(ctx, from, to, func(done, total int64) {
		if done == total/2 {
			cancel()
		}
	}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a copy that was broken off: %v", err)
	}
	if _, err := store.Copy(t.Context(), from, to, nil, nil); err != nil {
		t.Errorf("after one that was broken off: %v", err)
	}
	if _, err := store.Copy(t.Context(), from, to, nil, nil); err == nil || !strings.Contains(err.Error(), "the database is in use: its table ") {
		t.Errorf("over another: %v", err)
	}
}

func TestCopyRefuses(t *testing.T) {
	from, to := filled(t), servers.PostgresDatabase(t)
	for name, c := range map[string]struct{ from, to, want string }{
		"two files":         {from, newFile(t), "is copied from an SQLite file to a PostgreSQL database"},
		"the other way":     {to, from, "is copied from an SQLite file to a PostgreSQL database"},
		"no file":           {filepath.Join(t.TempDir(), "none.db"), to, store.ErrMissing.Error()},
		"no server":         {from, "postgres://u:canary@127.0.0.1:1/genway", "connection refused"},
		"no URL":            {from, "postgres://u:canary%zz@host/genway", "the PostgreSQL URL is malformed"},
		"a text with a NUL": {withNUL(t), servers.PostgresDatabase(t), "table keys: invalid byte sequence"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Copy(t.Context(), c.from, c.to, nil, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	s := open(t, from)
	if _, err := store.Copy(t.Context(), from, to, nil, nil); err == nil || !strings.Contains(err.Error(), "end the servers first") {
		t.Errorf("beside a server: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func withNUL(t *testing.T) string {
	t.Helper()
	location := filled(t)
	edit(t, location, `UPDATE keys SET name = 'a' || char(0) || 'b'`)
	return location
}
