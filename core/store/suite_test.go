//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/store/storetest"
	"github.com/genway/genway/test/servers"
)

// kinds make a place for a new database: an empty one, or on PostgreSQL a copy of one that was migrated, which is faster.
var kinds = map[string]func(testing.TB) (location string){
	"SQLite":     newFile,
	"PostgreSQL": migrated,
}

// migrated copies a PostgreSQL database that has the schema.
func migrated(t testing.TB) string {
	t.Helper()
	return servers.PostgresCopy(t, "migrated", func(url string) error {
		s, err := store.Open(t.Context(), store.Config{Location: url})
		if err != nil {
			return err
		}
		return s.Close()
	})
}

// newFile is a place for an SQLite file: in memory where the system has a directory for that, since no test cuts the power.
func newFile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "genway-store-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "data", store.FileName)
}

// onEach runs a test on each kind of database.
func onEach(t *testing.T, test func(t *testing.T, location string)) {
	t.Helper()
	for kind, fresh := range kinds {
		t.Run(kind, func(t *testing.T) { test(t, fresh(t)) })
	}
}

// onEachEmpty is onEach of databases that have no schema yet.
func onEachEmpty(t *testing.T, test func(t *testing.T, location string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, newFile(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, servers.PostgresDatabase(t)) })
}

// inTurn returns PostgreSQL databases for the tests of a suite, which use the same ones in turn: to empty one costs less than
// to make one.
func inTurn(t *testing.T, fresh func(testing.TB) string) func(testing.TB) (location string) {
	t.Helper()
	var mu sync.Mutex
	var free []string
	return func(test testing.TB) string {
		test.Helper()
		mu.Lock()
		defer mu.Unlock()
		if len(free) == 0 {
			free = append(free, fresh(t))
		}
		location := free[len(free)-1]
		free = free[:len(free)-1]
		test.Cleanup(func() {
			if empty(location) == nil { // else it is not used again
				mu.Lock()
				defer mu.Unlock()
				free = append(free, location)
			}
		})
		return location
	}
}

// empty deletes all rows of a PostgreSQL database.
func empty(location string) error {
	db, err := sql.Open("pgx", location)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), `SET lock_timeout = '5s'; SET session_replication_role = replica; TRUNCATE keys, keys_changes, audit, items, captures,
		ledger_processes, ledger, ledger_spent, ledger_hours, ledger_rollups, ledger_days RESTART IDENTITY; UPDATE keys_version SET version = 0`)
	return errors.Join(err, db.Close())
}

func TestKeys(t *testing.T) {
	for kind, fresh := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind == "PostgreSQL" {
				fresh = inTurn(t, fresh)
			}
			storetest.Run(t, func(t *testing.T) storetest.Database {
				location := fresh(t)
				return func(t *testing.T) storetest.Keys { return open(t, location) }
			})
		})
	}
}

func TestLedger(t *testing.T) {
	for kind, fresh := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind == "PostgreSQL" {
				fresh = inTurn(t, fresh)
			}
			storetest.RunLedger(t, func(t *testing.T) storetest.LedgerDatabase {
				location := fresh(t)
				if store.IsPostgres(location) {
					// Some days of the suite's entries have partitions, others are in the default one.
					extend(t, opened(t, location), time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
				}
				return func(t *testing.T) *store.Store { return open(t, location) }
			})
		})
	}
}

// open opens a database that its caller closes.
func open(t testing.TB, location string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is open, closed at the test's end.
func opened(t testing.TB, location string) *store.Store {
	t.Helper()
	s := open(t, location)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func BenchmarkOpen(b *testing.B) {
	for kind, fresh := range kinds {
		b.Run(kind, func(b *testing.B) {
			location := fresh(b)
			opened(b, location)
			for b.Loop() {
				if err := open(b, location).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVersion(b *testing.B) {
	for kind, fresh := range kinds {
		b.Run(kind, func(b *testing.B) {
			s := opened(b, fresh(b))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Keys().Version(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCaptures(t *testing.T) {
	for kind, fresh := range kinds {
		t.Run(kind, func(t *testing.T) {
			location := fresh(t)
			storetest.RunCaptures(t, func(t *testing.T) *store.Store { return open(t, location) })
		})
	}
}

func TestItems(t *testing.T) {
	for kind, fresh := range kinds {
		t.Run(kind, func(t *testing.T) {
			location := fresh(t)
			storetest.RunItems(t, func(t *testing.T) (items.Store, func() error) {
				s := open(t, location)
				return s.Items(), s.Close
			})
		})
	}
}
