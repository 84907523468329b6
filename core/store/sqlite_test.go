package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/store/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Database {
		path := filepath.Join(t.TempDir(), store.FileName)
		return func(t *testing.T) storetest.Keys { return open(t, path) }
	})
}

func TestSQLiteLedger(t *testing.T) {
	for name, relaxed := range map[string]bool{"full": false, "relaxed": true} {
		t.Run(name, func(t *testing.T) {
			storetest.RunLedger(t, func(t *testing.T) storetest.LedgerDatabase {
				config := store.Config{Path: filepath.Join(t.TempDir(), store.FileName), RelaxLedger: relaxed}
				return func(t *testing.T) store.Store {
					s, err := store.Open(t.Context(), config)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
			})
		})
	}
}

// open opens a database that its caller closes.
func open(t testing.TB, path string) *store.SQLite {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is open, closed at the test's end.
func opened(t testing.TB, path string) *store.SQLite {
	t.Helper()
	s := open(t, path)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// The characters that mean something in the driver's names mean nothing in a path.
func TestOpenPaths(t *testing.T) {
	for _, name := range []string{"plain.db", "a b.db", "100%25.db", "what?_journal_mode=OFF", "frag#ment.db", "a&b=c;d.db", "ключ.db"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "directories", name)
			opened(t, path)
			if _, err := os.Stat(path + "-wal"); err != nil {
				t.Errorf("no write-ahead log beside the file: %v", err)
			}
		})
	}
}

func TestOpenKeepsOthersOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // rights are inherited there, from the user's own directory
	}
	dir := filepath.Join(t.TempDir(), "share", "genway")
	path := filepath.Join(dir, store.FileName)
	check := func() {
		t.Helper()
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("directory %s: %v, %v", d, info.Mode(), err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) < 3 {
			t.Errorf("only %v", entries)
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("file %s: %v, %v", entry.Name(), info.Mode(), err)
			}
		}
	}
	s := open(t, path)
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	opened(t, path)
	check()
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	unwritable := filepath.Join(dir, "unwritable")
	if err := os.Mkdir(unwritable, 0o500); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ path, want string }{
		"no path":           {"", "open store: no path"},
		"a file in the way": {filepath.Join(file, "genway.db"), "create directory " + file + ": not a directory"},
		"a file further up": {filepath.Join(file, "data", "genway.db"), "create directory " + filepath.Join(file, "data") + ": not a directory"},
		"a directory":       {dir, "open store " + dir + ": not a regular file"},
		"another file":      {file, "open store " + file + ": "},
	}
	if runtime.GOOS == "linux" { // where not even root can
		tests["unwritable"] = struct{ path, want string }{"/proc/genway.db", ": directory /proc is not writable: "}
	}
	if os.Geteuid() > 0 {
		tests["not ours"] = struct{ path, want string }{
			filepath.Join(unwritable, "genway.db"), ": directory " + unwritable + " is not writable: permission denied",
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Path: test.path})
			if err == nil {
				s.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, test.want)
			}
		})
	}
}

// A database of a newer program is left alone.
func TestOpenNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), store.FileName)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err == nil {
		s.Close()
		t.Fatal("it opened")
	}
	if want := "version 9999 "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "newer genway") {
		t.Errorf("got %q, want %q in it", err, want)
	}
}

// What a table's triggers promise holds for changes by hand as well.
func TestVersionSeesChangesByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), store.FileName)
	s := opened(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	last := int64(-1)
	for _, statement := range []string{
		`INSERT INTO keys VALUES ('key_hand', zeroblob(32), 'chat', '', 0, NULL, NULL)`,
		`UPDATE keys SET name = 'hand'`,
		`DELETE FROM keys`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		version, err := s.Keys().Version(t.Context())
		if err != nil || version == last {
			t.Errorf("after %s: version %d as before, %v", statement, version, err)
		}
		last = version
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), store.FileName)
	opened(b, path)
	for b.Loop() {
		if err := open(b, path).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVersion(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), store.FileName))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Keys().Version(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
