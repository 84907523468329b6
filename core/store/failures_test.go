package store_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// Case V24: a count of failures that does not reach all of them says since when it has them, and one that has just
// all does not. What did not simply succeed counts for the bound, and is no failure.
func TestFailuresFrom(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		began := time.Unix(1_700_000_000, 0).UTC()
		process, err := s.Ledger().Begin(t.Context(), began)
		if err != nil {
			t.Fatal(err)
		}
		at := func(n int64) time.Time { return began.Add(time.Duration(n) * time.Second) }
		var entries []*ledger.Entry
		for n := range int64(6) {
			e := &ledger.Entry{Number: n + 1, Request: ledger.Request{Start: at(n)}, Result: ledger.Result{Outcome: ledger.Failed, Upstream: "u", Kind: "timeout", Attempts: 1}}
			if n == 3 {
				e.Outcome, e.Kind = ledger.Cancelled, "cancelled"
			}
			entries = append(entries, e)
		}
		if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			most   int
			from   time.Time
			failed int64
		}{{1, at(4), 2}, {2, at(3), 2}, {4, at(1), 4}, {5, at(0), 5}, {6, time.Time{}, 5}, {7, time.Time{}, 5}} {
			got, err := s.FailuresOf(t.Context(), began, at(100), c.most)
			if err != nil || !got.From.Equal(c.from) || len(got.Counts) != 1 || got.Counts[0].Requests != c.failed {
				t.Errorf("of %d: %+v, %v; expected %d since %v", c.most, got, err, c.failed, c.from)
			}
		}
		if got, err := s.FailuresOf(t.Context(), at(50), at(100), 1); err != nil || !got.From.IsZero() || len(got.Counts) != 0 {
			t.Errorf("of nothing: %+v, %v", got, err)
		}
	})
}
