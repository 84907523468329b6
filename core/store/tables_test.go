//go:build unix

package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
)

// A database that lacks tables of its version of the schema is not opened, not said to be up to
// date, and not taken for a backup: each table that is missing is named.
func TestMissingTables(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		if err := open(t, location).Close(); err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(t.TempDir(), "backup.db")
		db := raw(t, location)
		run(t, db, `DROP TABLE items`, `DROP TABLE audit`)
		if !store.IsPostgres(location) {
			run(t, db, `VACUUM INTO '`+backup+`'`)
			if _, err := store.Restore(t.Context(), backup, newFile(t), false); err == nil || !strings.Contains(err.Error(), "audit, items") {
				t.Errorf("restored: %v", err)
			}
			if err := store.Backup(t.Context(), location, filepath.Join(t.TempDir(), "again.db")); err == nil || !strings.Contains(err.Error(), "audit, items") {
				t.Errorf("backed up: %v", err)
			}
		}
		for _, mode := range []store.Migrate{store.MigrateAuto, store.MigrateCheck} {
			s, err := store.Open(t.Context(), store.Config{Location: location, Migrate: mode})
			if err == nil {
				err = s.Close()
				t.Errorf("%s: it opened; %v", mode, err)
			} else if !strings.Contains(err.Error(), "audit, items") || strings.Contains(err.Error(), "keys") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", mode, err)
			}
		}
		if _, err := store.ReadSchema(t.Context(), store.Config{Location: location}); err == nil || !strings.Contains(err.Error(), "audit, items") {
			t.Errorf("its schema: %v", err)
		}
	})
}

// Each table that the steps make is missed, and only those of steps that were made.
func TestMissingTablesOfSteps(t *testing.T) {
	location := newFile(t)
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	tables := column(t, raw(t, location), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'genway_schema'`)
	if len(tables) < 13 {
		t.Errorf("only %d tables: %q", len(tables), tables)
	}
	for _, line := range tables {
		table := strings.TrimSpace(line)
		broken := newFile(t)
		if err := open(t, broken).Close(); err != nil {
			t.Fatal(err)
		}
		run(t, raw(t, broken), `PRAGMA foreign_keys = OFF`, `DROP TABLE `+table)
		s, err := store.Open(t.Context(), store.Config{Location: broken})
		if err == nil {
			err = s.Close()
			t.Errorf("without %s: it opened; %v", table, err)
		} else if !strings.Contains(err.Error(), "("+table+")") {
			t.Errorf("without %s: %v", table, err)
		}
	}
}
