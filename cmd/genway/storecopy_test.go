//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// A store is proved, copied and proved again; its keys and its audit are the same afterwards.
func TestStoreCopy(t *testing.T) {
	dir, to := t.TempDir(), servers.PostgresDatabase(t)
	for _, name := range []string{"first", "second"} {
		must(t, dir, "keys", "create", "--group", "chat", "--name", name)
	}
	for _, list := range [][]string{{"keys", "list"}, {"audit", "list"}, {"audit", "verify"}} {
		if out := must(t, dir, list...); !strings.Contains(out, "second") && !strings.Contains(out, "whole: 2 entries") {
			t.Fatalf("%v: %s", list, out)
		}
	}
	out := must(t, dir, "store", "copy", "--to", to)
	for _, want := range []string{"keys              2 rows\n", "audit verify, on both sides: whole, 2 entries, head ", "ledger check, on both sides: all is well, 0 requests\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for _, list := range [][]string{{"keys", "list"}, {"audit", "list"}, {"audit", "verify"}} {
		before, after := must(t, dir, list...), must(t, dir, append(list, "--store", to)...)
		if before != after {
			t.Errorf("%v: before\n%safter\n%s", list, before, after)
		}
	}
}

func TestStoreCopyRefuses(t *testing.T) {
	dir, nowhere := t.TempDir(), "postgres://u@127.0.0.1:1/genway"
	must(t, dir, "keys", "create", "--group", "chat", "--name", "first")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "missing flags: --to"},
		{[]string{"--to", filepath.Join(dir, "other.db")}, "is copied from an SQLite file to a PostgreSQL database"},
		{[]string{"--to", nowhere, "--store", nowhere}, "is copied from an SQLite file to a PostgreSQL database"},
		{[]string{"--to", nowhere, "--store", filepath.Join(dir, "none.db")}, store.ErrMissing.Error()},
		{[]string{"--to", nowhere}, "connection refused"},
	} {
		if _, err := genway(t, dir, append([]string{"store", "copy"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	if err := os.Truncate(filepath.Join(dir, store.FileName), 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := genway(t, dir, "store", "copy", "--to", nowhere); err == nil || strings.Contains(err.Error(), "refused") {
		t.Errorf("a damaged store: %v", err)
	}
}
