//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

// Case V24: what failed is counted by upstream and kind, and nothing else is: neither what was cancelled, interrupted,
// tried again, still runs, nor what began at another time.
func testFailures(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	at := epoch().Add(time.Hour)
	number := int64(0)
	var entries []*ledger.Entry
	add := func(start time.Time, upstream string, outcome ledger.Outcome, kind string, times int) {
		for range times {
			number++
			e := entry(number)
			e.Start, e.Upstream, e.Outcome, e.Kind, e.Attempts = start, upstream, outcome, kind, 2
			entries = append(entries, e)
		}
	}
	add(at, "a", ledger.Failed, "timeout", 1)
	add(at, "a", ledger.Failed, "rate_limited", 3)
	add(at, "a", ledger.Failed, "overloaded", 1)
	add(at, "a", ledger.OK, "", 4)
	add(at, "a", ledger.Cancelled, "cancelled", 2)
	add(at, "a", ledger.Interrupted, "", 2)
	add(at, "", ledger.Failed, "not_found", 1)
	add(at.Add(-time.Microsecond), "a", ledger.Failed, "early", 1)
	add(at.Add(time.Second), "' OR 1=1 --", ledger.Failed, "", 1)
	add(at.Add(time.Minute), "a", ledger.Failed, "late", 1)
	write(t, s, process, append(entries, opening(number+1))...)
	middle := []ledger.FailureCount{{Kind: "not_found", Requests: 1}, {Upstream: "' OR 1=1 --", Requests: 1}, {Upstream: "a", Kind: "rate_limited", Requests: 3}, {Upstream: "a", Kind: "overloaded", Requests: 1}, {Upstream: "a", Kind: "timeout", Requests: 1}}
	early, late := ledger.FailureCount{Upstream: "a", Kind: "early", Requests: 1}, ledger.FailureCount{Upstream: "a", Kind: "late", Requests: 1}
	for name, c := range map[string]struct {
		since, until time.Time
		want         []ledger.FailureCount
	}{
		"in between":    {at, at.Add(time.Minute), middle},
		"of no time":    {at, at, nil},
		"backwards":     {at.Add(time.Hour), at, nil},
		"before":        {time.Time{}, at, []ledger.FailureCount{early}},
		"after":         {at.Add(2 * time.Second), time.Time{}, []ledger.FailureCount{late}},
		"of all times":  {time.Unix(-62135596800, 0), time.Unix(253402300799, 0), []ledger.FailureCount{middle[0], middle[1], middle[2], early, late, middle[3], middle[4]}},
		"without bound": {time.Time{}, time.Time{}, []ledger.FailureCount{middle[0], middle[1], middle[2], early, late, middle[3], middle[4]}},
	} {
		got, err := searcher(t, s).Failures(t.Context(), c.since, c.until)
		if err != nil || !got.From.IsZero() || !cmp.Equal(got.Counts, c.want) {
			t.Errorf("%s: %v, from %v: %v", name, got.Counts, got.From, err)
		}
	}
}
