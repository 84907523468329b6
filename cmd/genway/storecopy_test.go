//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/audit"
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
	dir, nowhere, to := t.TempDir(), "postgres://u@127.0.0.1:1/genway", servers.PostgresDatabase(t)
	must(t, dir, "keys", "create", "--group", "chat", "--name", "first")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "missing flags: --to"},
		{[]string{"--to", filepath.Join(dir, "other.db")}, "is copied from an SQLite file to a PostgreSQL database"},
		{[]string{"--to", nowhere, "--store", nowhere}, "is copied from an SQLite file to a PostgreSQL database"},
		{[]string{"--to", to, "--store", filepath.Join(dir, "none.db")}, store.ErrMissing.Error()},
		{[]string{"--to", nowhere}, "nothing was copied: open store postgres://u@127.0.0.1:1/genway: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		if _, err := genway(t, dir, append([]string{"store", "copy"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	if err := os.Truncate(filepath.Join(dir, store.FileName), 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := genway(t, dir, "store", "copy", "--to", to); err == nil || !strings.Contains(err.Error(), "nothing was copied: ") {
		t.Errorf("a damaged store: %v", err)
	}
	if out := must(t, dir, "migrate", "status", "--store", to); !strings.Contains(out, "is version 0;") {
		t.Errorf("the copy of a damaged store has begun: %s", out)
	}
}

// A copy whose check was broken off is not called bad.
func TestVerdict(t *testing.T) {
	whole := proof{audit: audit.Head{Number: 2}, requests: 3}
	for _, c := range []struct {
		after proof
		err   error
		want  string
	}{
		{whole, nil, ""},
		{proof{audit: whole.audit, requests: 2}, nil, "the copy is not good, remove the database: it has "},
		{proof{}, errors.Join(errWrong), "the copy is not good, remove the database: the ledger"},
		{proof{}, fmt.Errorf("audit: %w", &audit.BrokenError{Number: 1}), "the copy is not good, remove the database: audit"},
		{proof{}, audit.ErrHeadMissing, "the copy is not good, remove the database: the audit"},
		{proof{}, io.ErrUnexpectedEOF, "all rows are copied, but the copy was not checked to its end: "},
		{proof{}, context.Canceled, "all rows are copied, but the copy was not checked to its end: "},
	} {
		err := verdict(whole, c.after, c.err)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%+v, %v: %v", c.after, c.err, err)
		}
	}
}
