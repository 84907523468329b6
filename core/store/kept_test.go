//go:build unix

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// A tail finds what was open and has ended, however many have ended at once: few and many are looked up by
// statements of their own, which stay prepared.
func TestTailOfManyThatEnd(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		process, err := s.Ledger().Begin(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		cursor, number := &ledger.Cursor{}, int64(0)
		tail := func() int {
			t.Helper()
			ended, dropped, err := s.Requests().Tail(t.Context(), cursor)
			if err != nil || dropped > 0 {
				t.Fatal(dropped, err)
			}
			seen := map[int64]bool{}
			for _, e := range ended {
				if seen[e.Number] {
					t.Errorf("entry %d is given twice", e.Number)
				}
				seen[e.Number] = true
			}
			return len(seen)
		}
		tail()
		for _, count := range []int{1, 9, 10, 11, 200, 201, 405, 1} {
			var entries []*ledger.Entry
			for range count {
				number++
				entries = append(entries, &ledger.Entry{Number: number, Request: ledger.Request{ID: fmt.Sprint("req_", number), KeyID: "k", Protocol: "messages", Method: "GenerateText", Model: "m", Start: time.Now()}, Result: ledger.Result{Outcome: ledger.Open}})
			}
			if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
				t.Fatal(err)
			}
			if n := tail(); n != 0 {
				t.Errorf("%d of %d open entries have ended", n, count)
			}
			for _, e := range entries {
				e.Outcome = ledger.OK
			}
			if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
				t.Fatal(err)
			}
			if n := tail(); n != count {
				t.Errorf("%d of %d entries have ended", n, count)
			}
		}
	})
}
