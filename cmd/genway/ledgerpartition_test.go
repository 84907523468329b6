//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/servers"
)

// The command says what it would do, does it, and does nothing the second time. The database takes a copy of an
// SQLite store as one that is not partitioned does.
func TestLedgerPartition(t *testing.T) {
	dir, at := t.TempDir(), servers.PostgresDatabase(t)
	if _, err := genway(t, dir, "ledger", "partition"); err == nil || !strings.Contains(err.Error(), "only a ledger in PostgreSQL is partitioned") {
		t.Errorf("SQLite: %v", err)
	}
	if _, err := genway(t, dir, "ledger", "partition", "--store", at); err == nil || !strings.Contains(err.Error(), "run genway migrate up") {
		t.Errorf("no schema: %v", err)
	}
	must(t, dir, "migrate", "up", "--store", at)
	says := func(want string, args ...string) {
		t.Helper()
		if out := must(t, dir, append(args, "--store", at)...); !strings.Contains(out, want) {
			t.Errorf("%v: no %q in %q", args, want, out)
		}
	}
	says("The ledger has about 0 rows and takes 0 MB. To do:\n  hold new rows to the first partition's bound, ", "ledger", "partition", "--dry-run")
	statements(t, at, `CREATE VIEW "mine
" AS SELECT 1 FROM ledger`)
	if out, err := genway(t, dir, "ledger", "partition", "--dry-run", "--store", at); err == nil || !strings.Contains(out, "In the way:\n  the view \"mine\\n\" reads the ledger") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := genway(t, dir, "ledger", "partition", "--store", at); err == nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	statements(t, at, `DROP VIEW "mine
"`)
	says("make the partitions of the next days\nThe ledger is partitioned by day, and has 2 partitions.\n", "ledger", "partition")
	says("it is up to date.\nThe ledger is partitioned by day, and has 2 partitions.\n", "migrate", "status")
	says("and has 2 partitions:\n  ledger_before_", "ledger", "partition", "--dry-run")
	if out := must(t, dir, "ledger", "partition", "--store", at); strings.Count(out, " s: ") != 1 {
		t.Errorf("the second time: %q", out)
	}
	must(t, dir, "keys", "create", "--group", "chat", "--name", "first")
	if out := must(t, dir, "store", "copy", "--to", at); !strings.Contains(out, "ledger check, on both sides: all is well, 0 requests") {
		t.Error(out)
	}
	says("all is well", "ledger", "check")
}
