//go:build unix

package smallfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	regular, loop, pipe := filepath.Join(dir, "regular"), filepath.Join(dir, "loop"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(regular, []byte("0123456789"), 0o600), os.Symlink(loop, loop), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, want, fails string
		most              int64
	}{
		{regular, "0123456789", "", 10},
		{regular, "0123", "", 3},
		{pipe, "", "", 10},
		{"/dev/zero", "\x00\x00\x00", "", 2},
		{dir, "", "is a directory", 10},
		{loop, "", loop, 10},
		{filepath.Join(dir, "none"), "", "none", 10},
	} {
		got, err := Read(c.file, c.most)
		if string(got) != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q, %v", c.file, got, err)
		}
	}
}

// A pipe is read to its end, and its writer is not waited for without end.
func TestReadOfAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(pipe, os.O_RDWR, 0) // it opens without a reader
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("key"); err != nil {
		t.Fatal(err)
	}
	if _, err := read(pipe, 10, time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), pipe) {
		t.Errorf("a writer that does not end: %v", err)
	}
	go func() {
		if err := errors.Join(write(w, "another"), w.Close()); err != nil {
			t.Error(err)
		}
	}()
	if got, err := Read(pipe, 10); err != nil || string(got) != "another" {
		t.Errorf("%q, %v", got, err)
	}
}

func write(w *os.File, text string) error {
	_, err := w.WriteString(text)
	return err
}
