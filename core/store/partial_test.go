//go:build unix

package store_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/core/store"
)

// writesUntilKilled names, in the environment, the file that a child process begins to write.
const writesUntilKilled = "GENWAY_TEST_WRITES_UNTIL_KILLED"

// A backup removes what a killed one has left in its directory, but nothing of one that runs, and
// nothing that others have put there.
func TestBackupRemovesWhatAKilledOneLeft(t *testing.T) {
	if file := os.Getenv(writesUntilKilled); file != "" {
		err := store.Whole(t.Context(), file, func(partial string) error {
			if err := os.WriteFile(partial, []byte("the half of it"), 0o600); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(os.Stdout, "begun"); err != nil { // the parent reads it
				return err
			}
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
		t.Fatal("it was to be killed: ", err)
	}
	location, dir := newFile(t), t.TempDir()
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	foreign := func(name string, files ...string) string {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(at, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	others := []string{foreign(".genway-empty"), foreign(".genway-more", "lock", "partial", "thesis"), foreign(".genway-unlocked", "partial"), filepath.Join(dir, ".genway-link")}
	elsewhere := foreign("elsewhere", "lock", "partial")
	if err := os.Symlink(elsewhere, others[3]); err != nil {
		t.Fatal(err)
	}
	slices.Sort(others)

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBackupRemovesWhatAKilledOneLeft$")
	child.Env = append(os.Environ(), writesUntilKilled+"="+filepath.Join(dir, "killed.db"))
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("begun"))); err != nil {
		t.Fatal(err)
	}
	backup := func(name string) []string {
		t.Helper()
		if err := store.Backup(t.Context(), location, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, ".genway-*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	if left := backup("beside.db"); len(left) != len(others)+1 {
		t.Errorf("beside one that runs there is %q, want %q and that one's", left, others)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); child.ProcessState.Success() {
		t.Errorf("it was to be killed: %v", err)
	}
	if left := backup("afterwards.db"); !slices.Equal(left, others) {
		t.Errorf("there is %q, want %q", left, others)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "partial")); err != nil {
		t.Error(err)
	}
}

// Backups into one directory at once do not take each other's directories for stale. Of two into one file, one is
// made and the other says that the file exists.
func TestBackupsAtOnce(t *testing.T) {
	location := newFile(t)
	create(t, opened(t, location))
	dir := t.TempDir()
	const files = 4
	var made [files]atomic.Int64
	var all sync.WaitGroup
	for n := range 2 * files {
		all.Go(func() {
			err := store.Backup(t.Context(), location, filepath.Join(dir, strconv.Itoa(n/2)))
			switch {
			case err == nil:
				made[n/2].Add(1)
			case !strings.Contains(err.Error(), "file exists") || strings.Contains(err.Error(), ".genway-"):
				t.Errorf("backup %d: %v", n, err)
			}
		})
	}
	all.Wait()
	for n := range made {
		if made[n].Load() != 1 {
			t.Errorf("%d backups say that they made file %d", made[n].Load(), n)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != files {
		t.Errorf("%v, %v", entries, err)
	}
}
