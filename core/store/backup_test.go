//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// A backup that is made beside a server has what the server wrote last, and can be restored
// where nothing is, or in the place of a store that nobody has open.
func TestBackup(t *testing.T) {
	location := newFile(t)
	s := open(t, location)
	create(t, s)
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := store.Backup(t.Context(), location, file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if err := store.Backup(t.Context(), location, file); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second one: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".genway-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	elsewhere := newFile(t)
	if _, err := store.Restore(t.Context(), file, elsewhere, false); err != nil {
		t.Fatal(err)
	}
	if n := count(t, elsewhere); n != 1 {
		t.Errorf("%d keys restored, want 1", n)
	}

	if _, err := store.Restore(t.Context(), file, location, false); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("over a store: %v", err)
	}
	create(t, s)
	if _, err := store.Restore(t.Context(), file, location, true); err == nil || !strings.Contains(err.Error(), "open") {
		t.Errorf("over a store that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Restore(t.Context(), file, location, true)
	if err != nil {
		t.Fatal(err)
	}
	if before, after := count(t, kept), count(t, location); before != 2 || after != 1 {
		t.Errorf("%d keys are kept and %d restored, want 2 and 1", before, after)
	}
}

// count is how many keys a database has.
func count(t *testing.T, location string) (n int) {
	t.Helper()
	s := open(t, location)
	defer s.Close()
	if err := raw(t, location).QueryRowContext(t.Context(), `SELECT count(*) FROM keys`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What is no whole backup is refused before anything is touched.
func TestRestoreRefuses(t *testing.T) {
	location := newFile(t)
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good.db")
	if err := store.Backup(t.Context(), location, good); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(name string, content []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	newer := bad("newer.db", bytes)
	run(t, raw(t, newer), `INSERT INTO genway_schema (version_id, is_applied) VALUES (9999, TRUE)`, `UPDATE schema_least SET version = 9999`)
	empty := bad("other.db", nil)
	run(t, raw(t, empty), `CREATE TABLE other (id INTEGER)`)
	served := newFile(t)
	if err := open(t, served).Close(); err != nil { // its file has the schema
		t.Fatal(err)
	}
	create(t, opened(t, served)) // what it wrote is not in the file
	target := newFile(t)
	for what, file := range map[string]string{
		"missing":   filepath.Join(t.TempDir(), "missing.db"),
		"empty":     bad("empty.db", nil),
		"text":      bad("text.db", []byte(strings.Repeat("no database", 1000))),
		"cut":       bad("cut.db", bytes[:len(bytes)/2]),
		"other":     empty,
		"newer":     newer,
		"directory": t.TempDir(),
		"served":    served,
	} {
		if _, err := store.Restore(t.Context(), file, target, true); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a database: %v", what, err)
		}
	}
	postgres := servers.PostgresDatabase(t)
	if err := store.Backup(t.Context(), postgres, target); !errors.Is(err, store.ErrNoBackup) {
		t.Errorf("PostgreSQL: %v", err)
	}
	if _, err := store.Restore(t.Context(), good, postgres, true); !errors.Is(err, store.ErrNoBackup) {
		t.Errorf("PostgreSQL: %v", err)
	}
}

// Names of files are relative to the working directory.
func TestBackupOfRelativeName(t *testing.T) {
	location := newFile(t)
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("backups", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"backup.db", filepath.Join("backups", "backup.db")} {
		if err := store.Backup(t.Context(), location, file); err != nil {
			t.Errorf("back up to %s: %v", file, err)
			continue
		}
		if _, err := store.Restore(t.Context(), file, filepath.Join(filepath.Dir(file), "restored.db"), false); err != nil {
			t.Errorf("restore from %s: %v", file, err)
		}
	}
}
