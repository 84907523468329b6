//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

// Processes are listed by number with what each said last; one that has been silent is not listed, and
// no text keeps a sign of life from being written.
func testProcesses(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	list := func(since time.Time, want ...ledger.Process) {
		t.Helper()
		got, err := s.Processes(t.Context(), since)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	}
	list(time.Time{})
	silent, first, second := begin(t, s, epoch()), begin(t, s, epoch()), begin(t, s, epoch())
	at := func(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }
	beat := func(process int64, seconds int, node ledger.Node) {
		t.Helper()
		if _, err := s.Beat(t.Context(), process, node, at(seconds), epoch()); err != nil {
			t.Fatal(err)
		}
	}
	node := ledger.Node{Host: "a", Version: "v1", Address: "127.0.0.1:9090", Configuration: "0123", Degraded: []string{"limits", "store"}}
	beat(first, 3, node)
	beat(second, 1, ledger.Node{Host: "b\xff\x00,'\"", Version: "v2"})
	wanted := func(process int64, seen int, node ledger.Node) ledger.Process {
		return ledger.Process{Number: process, Start: epoch(), Seen: at(seen), Node: node}
	}
	other := ledger.Node{Host: "b\uFFFD\uFFFD,'\"", Version: "v2"}
	list(at(1), wanted(first, 3, node), wanted(second, 1, other))
	list(time.Time{}, wanted(silent, 0, ledger.Node{}), wanted(first, 3, node), wanted(second, 1, other))
	node.Configuration, node.Degraded = "4567", nil
	beat(first, 5, node)
	list(at(2), wanted(first, 5, node))
	list(at(6))
}
