package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full in the midst of an import, and one that may not be written, leave nothing
// of it: the command says so, and that no key that it printed is good, and it can be run again.
func TestImportOntoFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a small file system needs root: nothing is known of an import onto a full disk")
	}
	data, dir := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(dir, "k.csv")
	const n = 2500
	write(t, file, csvOf(n, ""))
	must(t, data, "keys", "create", "--group=chat", "--name=before")
	refused := func(how string) {
		t.Helper()
		out, err := genway(t, data, "keys", "import", file)
		if err == nil || !strings.HasSuffix(err.Error(), "nothing was imported") || out != "" && !strings.Contains(err.Error(), "what was printed is good for nothing") {
			t.Errorf("%s: %.100q, %v", how, out, err)
		}
		if left, err := filepath.Glob(filepath.Join(os.TempDir(), "genway-*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", how, left, err)
		}
	}
	only := func(how string) {
		t.Helper()
		if list := must(t, data, "keys", "list"); strings.Count(list, "key_") != 1 {
			t.Errorf("%s: left behind: %.500s", how, list)
		}
		if out := must(t, data, "audit", "verify"); !strings.HasPrefix(out, "whole: 1 entries") {
			t.Errorf("%s: %s", how, out)
		}
	}
	for how, room := range map[string]int{"no room": 0, "room for a part": 600 << 10} {
		filler := filepath.Join(data, "filler")
		fillBut(t, filler, room)
		refused(how)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		only(how)
	}
	if err := syscall.Mount("", data, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refused("read-only")
	if err := syscall.Mount("", data, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	only("read-only")
	if out := must(t, data, "keys", "import", file); strings.Count(out, ",gwk_") != n {
		t.Errorf("run again: %d lines", strings.Count(out, "\n"))
	}
	if list := must(t, data, "keys", "list"); strings.Count(list, "key_") != n+1 {
		t.Errorf("%d keys", strings.Count(list, "key_"))
	}
}

// fillBut writes a file until there is no room for more, then leaves that many bytes.
func fillBut(t *testing.T, file string, room int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, piece := 0, bytes.Repeat([]byte{1}, 4<<10)
	for err == nil {
		var n int
		n, err = f.Write(piece)
		size += n
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(max(size-room, 0))); err != nil {
		t.Fatal(err)
	}
}
