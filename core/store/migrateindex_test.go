//go:build unix

package store_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// beforeFaults sets the version of a database without ledger_faults to that before the migration that makes this index beside
// writers. It undoes later ones.
func beforeFaults(t testing.TB, db *sql.DB) {
	t.Helper()
	run(t, db, append(withoutQuantities(), `DELETE FROM goose_db_version WHERE version_id >= 17`)...)
}

// faultIndexes are the indexes of that migration, with whether they are valid.
func faultIndexes(t testing.TB, db *sql.DB) []string {
	t.Helper()
	all := column(t, db, `SELECT c.relname || CASE WHEN indisvalid THEN '' ELSE ', not valid' END FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid
		WHERE pg_get_indexdef(indexrelid) LIKE '%(start_time, process, number, outcome, attempts, key_id, upstream, kind, reason) WHERE%' ORDER BY 1`)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// Case X87: while an upgrade makes an index and waits for a transaction that has written, others write. What an
// upgrade that was interrupted has left is made again. A ledger that is partitioned by day has the index in each partition.
func TestIndexesAreMadeBesideWriters(t *testing.T) {
	first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, form := range map[string]struct {
		byDay bool
		want  []string
	}{
		"one table": {false, []string{"ledger_faults"}},
		"by day":    {true, []string{"ledger_20260302_faults", "ledger_20260303_faults", "ledger_20260304_faults", "ledger_20260305_faults", "ledger_before_20260302_faults", "ledger_default_faults", "ledger_faults"}},
	} {
		t.Run(name, func(t *testing.T) {
			location := servers.PostgresDatabase(t)
			s := opened(t, location)
			db := raw(t, location)
			run(t, db, `DROP INDEX ledger_faults`)
			if form.byDay {
				partition(t, location, first.AddDate(0, 0, -7))
				extend(t, s, first.AddDate(0, 0, 1))
			}
			process, err := s.Ledger().Begin(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			failed := &ledger.Entry{Number: 1, Request: ledger.Request{ID: "r", Start: first}, Result: ledger.Result{Outcome: ledger.Failed, Reason: "R"}}
			if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{failed}); err != nil {
				t.Fatal(err)
			}
			beforeFaults(t, db)
			// A transaction that has written and goes on: no index of its table can be finished.
			writing, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer writing.Rollback()
			if _, err := writing.ExecContext(t.Context(), `UPDATE ledger SET kind = 'k'`); err != nil {
				t.Fatal(err)
			}
			made := make(chan error, 1)
			go func() {
				_, err := store.MigrateUp(t.Context(), store.Config{Location: location})
				made <- err
			}()
			await(t, func() bool {
				return len(column(t, db, `SELECT pid::text FROM pg_locks WHERE NOT granted`)) > 0
			})
			// As a program of before the migration does: this one writes columns of later ones.
			if _, err := db.ExecContext(t.Context(), `INSERT INTO ledger SELECT (jsonb_populate_record(l, '{"number": 2}')).* FROM ledger l`); err != nil {
				t.Errorf("a write beside it: %v", err)
			}
			select {
			case err := <-made:
				t.Fatalf("the index did not wait: %v", err)
			default:
			}
			if err := writing.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-made; err != nil {
				t.Fatal(err)
			}
			if got := faultIndexes(t, db); !slices.Equal(got, form.want) {
				t.Errorf("%q, want %q", got, form.want)
			}
			// It was broken off: its index is there and not whole.
			beforeFaults(t, db)
			if !form.byDay {
				run(t, db, `UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'ledger_faults'::regclass`)
			} else {
				run(t, db, `DROP INDEX ledger_faults`, `CREATE INDEX ledger_20260302_faults ON ledger_20260302 (process)`, `UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'ledger_20260302_faults'::regclass`)
			}
			found := opened(t, location)
			if got := faultIndexes(t, db); !slices.Equal(got, form.want) {
				t.Errorf("after one that was broken off: %q, want %q", got, form.want)
			}
			page, err := found.Requests().Search(t.Context(), ledger.Filter{Reason: "R"}, nil, 10)
			if err != nil || len(page.Entries) != 2 {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}

// Case X87: programs that start at once on a store of the version before. One makes the index, while the others wait for
// it: it does not wait for them.
func TestIndexOfSeveralMigrations(t *testing.T) {
	location := servers.PostgresDatabase(t)
	opened(t, location)
	db := raw(t, location)
	run(t, db, `DROP INDEX ledger_faults`)
	beforeFaults(t, db)
	writing, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Rollback()
	if _, err := writing.ExecContext(t.Context(), `LOCK TABLE ledger IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	const programs = 3
	made := make(chan error, programs)
	for range programs {
		go func() {
			_, err := store.MigrateUp(t.Context(), store.Config{Location: location})
			made <- err
		}()
	}
	await(t, func() bool {
		return len(column(t, db, `SELECT pid::text FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`)) == 1 &&
			len(column(t, db, `SELECT pid::text FROM pg_stat_activity WHERE query LIKE '%pg_advisory_xact_lock%' AND pid <> pg_backend_pid()`)) >= programs
	})
	if err := writing.Commit(); err != nil {
		t.Fatal(err)
	}
	for range programs {
		if err := <-made; err != nil {
			t.Error(err)
		}
	}
	if got := faultIndexes(t, db); !slices.Equal(got, []string{"ledger_faults"}) {
		t.Errorf("%q", got)
	}
}
