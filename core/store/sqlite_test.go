//go:build unix

package store_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/store"
)

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
			s, err := store.Open(t.Context(), store.Config{Location: test.path})
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

// A file is not opened while a restore or a copy holds its lock, although nothing is to be done to
// its schema: the file may be replaced.
func TestOpenWaitsForTheLock(t *testing.T) {
	path := newFile(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	store.Exclusively(t, path, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if s, err := store.Open(ctx, store.Config{Location: path}); err == nil {
			t.Error("it opened")
			s.Close()
		}
	})
	opened(t, path)
}
