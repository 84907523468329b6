//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/genway/genway/core/keys"
)

// csvOf is a file of n keys, and behind them what else it says.
func csvOf(n int, behind string) string {
	var text strings.Builder
	text.WriteString("group,name,owner\n")
	for i := range n {
		fmt.Fprintf(&text, "chat,k%d,team\n", i)
	}
	return text.String() + behind
}

// A wrong row at the end of several parts leaves nothing, in the file and behind its check.
func TestImportOfParts(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(dir, "k.csv")
	const n = 2500
	none := func(when string) {
		t.Helper()
		if list := must(t, dir, "keys", "list"); strings.Count(list, "key_") != 1 {
			t.Errorf("%s: %.300s", when, list)
		}
	}
	must(t, dir, "keys", "create", "--group=chat", "--name=taken")
	for name, c := range map[string]struct{ behind, want string }{
		"a wrong row":           {"chat,x\n", "k.csv:2502:1: wrong number of fields"},
		"a wrong value":         {"chat,x, \nchat,key_x,\n", "k.csv:2503:6: name: it cannot begin with key_"},
		"a name of the first":   {"chat,k0,\n", "k.csv:2502:6: name: it is taken: another key of the import has it; nothing was imported"},
		"a name of the one row": {"messages,k0,\nchat,taken,\n", "k.csv:2503:6: name: it is taken: key_"},
	} {
		write(t, file, csvOf(n, c.behind))
		for _, line := range [][]string{{"keys", "import", file, "--dry-run"}, {"keys", "import", file}} {
			if out, err := genway(t, dir, line...); err == nil || out != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v: %.100q, %v", name, line[3:], out, err)
			}
			none(name)
		}
	}
	write(t, file, csvOf(n, ""))
	if out := must(t, dir, "keys", "import", file, "--dry-run"); out != "2500 keys would be made\n" {
		t.Errorf("dry: %s", out)
	}
	none("dry")
	if out := must(t, dir, "keys", "import", file); strings.Count(out, "\n") != n+1 || strings.Count(out, ",gwk_") != n {
		t.Errorf("%d lines", strings.Count(out, "\n"))
	}
	write(t, file, "group,name\n")
	if out := must(t, dir, "keys", "import", file); out != "id,group,name,key\n" {
		t.Errorf("no row: %q", out)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "genway-*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// What the store refuses is an error at the place of its row.
func TestImportBlame(t *testing.T) {
	wrong := &keys.InvalidError{Index: 1, Fields: []keys.FieldError{{Field: "name", Reason: "it is taken"}}}
	for text, want := range map[string]string{
		"group,name\nchat,a\nchat,b\n": "3:6: name: it is taken",
		"group\nchat\nchat\n":          "3:1: name: it is taken", //nolint:dupword // two keys
		"group,name\nchat,a\n":         " name: it is taken",
		"name\n":                       "1:1: the column group is missing",
	} {
		if err := (keyTable{file: strings.NewReader(text)}).blame(wrong); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A pipe is read, and waiting for it ends with the context.
func TestImportOfPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte(csvOf(3, "")), 0) }()
	if got := must(t, dir, "keys", "import", pipe); strings.Count(got, ",gwk_") != 3 {
		t.Errorf("got %s", got)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (&importKeys{File: pipe}).read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The check of a file ends with its caller.
func TestCheckKeysEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, _, err := checkKeys(ctx, keyTable{file: strings.NewReader(csvOf(5, ""))}, nil); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}
