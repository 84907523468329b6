//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// RunCaptures holds a vault.Store to its interface. database opens handles of one database.
func RunCaptures(t *testing.T, database func(t *testing.T) *store.Store) {
	handle := func(t *testing.T) *store.Store {
		s := database(t)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return s
	}
	one, other := handle(t), handle(t)
	row := func(n int64) vault.Row {
		return vault.Row{
			Process: n % 3, Number: n, KeyID: fmt.Sprint("key_", n%2), Start: epoch().Add(time.Duration(n) * time.Hour), Expires: epoch().Add(time.Duration(n+24) * time.Hour),
			SealedBy: []string{"", "2026"}[n%2], Content: bytes.Repeat([]byte{0, 0xff, byte(n)}, int(n)*1000),
		}
	}
	var rows []vault.Row
	for n := range int64(30) {
		rows = append(rows, row(n))
	}
	for range 2 { // a row that is there is replaced
		if err := one.Captures().Put(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Captures().Put(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	read := audit.Change{Time: epoch(), Actor: "key:reader", Action: "capture.read"}
	entries := func() (n int) {
		for e, err := range other.Audit().Entries(t.Context(), audit.Query{}) {
			if err != nil || e.Actor != "key:reader" {
				t.Fatalf("%+v, %v", e, err)
			}
			n++
		}
		return n
	}
	for _, want := range rows {
		read.Subject = strconv.FormatInt(want.Number, 10)
		got, err := other.Captures().Get(t.Context(), want.Process, want.Number, read)
		if err != nil || got == nil || !bytes.Equal(got.Content, want.Content) || got.KeyID != want.KeyID || got.SealedBy != want.SealedBy || !got.Start.Equal(want.Start) || !got.Expires.Equal(want.Expires) {
			t.Fatalf("%d: %+v, %v", want.Number, got, err)
		}
	}
	if got, err := one.Captures().Get(t.Context(), 2, 0, read); got != nil || err != nil {
		t.Errorf("a row of another process: %v, %v", got, err)
	}
	if n := entries(); n != len(rows) { // none of what was not there
		t.Errorf("the audit has %d readings", n)
	}
	has := func(n int64, want bool) {
		t.Helper()
		if got, err := one.Captures().Has(t.Context(), n%3, n); got != want || err != nil {
			t.Errorf("row %d is there: %v, %v", n, got, err)
		}
	}
	removes := func(which vault.Selection, count int, want int64, changes ...audit.Change) {
		t.Helper()
		if n, err := other.Captures().Delete(t.Context(), which, count, changes...); n != want || err != nil {
			t.Errorf("%+v: removed %d, not %d: %v", which, n, want, err)
		}
	}
	removes(vault.Selection{Process: 1, Number: 1}, 100, 1, read)
	removes(vault.Selection{Process: 1, Number: 1}, 100, 0, read)
	has(1, false)
	has(0, true)
	removes(vault.Selection{KeyID: "key_1"}, 2, 2) // the oldest first
	has(5, false)
	has(7, true)
	removes(vault.Selection{KeyID: "key_2"}, 100, 0)
	removes(vault.Selection{Before: rows[4].Expires}, 100, 2) // 0 and 2
	has(4, true)
	if n := entries(); n != len(rows)+2 {
		t.Errorf("the audit has %d entries", n)
	}

	// Bodies go with their request from the ledger, and others stay.
	process := begin(t, one.Ledger(), epoch())
	for _, n := range []int64{4, 27} {
		e := entry(n)
		e.Start = rows[n].Start
		e.Outcome = ledger.OK
		write(t, one.Ledger(), process, e)
	}
	if n, err := one.Ledger().Prune(t.Context(), epoch().Add(26*time.Hour), 100); n != 1 || err != nil {
		t.Fatalf("%d entries were pruned: %v", n, err)
	}
	has(4, false)
	has(28, true)
	removes(vault.Selection{All: true}, 3, 3)
	removes(vault.Selection{All: true}, 100, 2) // of the five that began on the last day
}
