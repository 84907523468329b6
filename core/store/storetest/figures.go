//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"math"
	"testing"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
)

// figures returns all that a sum is made of.
func figures(e *ledger.Entry) []*int64 {
	all := []*int64{&e.Cost}
	for _, k := range ledger.Kinds {
		all = append(all, e.Usage.At(k))
	}
	return all
}

// absurd is the n-th entry with one number in all figures.
func absurd(n, figure int64) *ledger.Entry {
	e := entry(n)
	for _, f := range figures(e) {
		*f = figure
	}
	return e
}

// No figure keeps an entry from being written, nor the entries beside it and after it.
// It is written as the nearest amount that every store holds exactly.
func testFigures(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	var want []*ledger.Entry
	for n, figure := range []int64{math.MaxInt64, math.MinInt64, -1, 0, 1<<53 - 1, 1 << 53, 9e18} {
		number := int64(2 * n)
		write(t, s, process, opening(number))
		write(t, s, process, absurd(number, figure), entry(number+1))
		want = append(want, absurd(number, amount.Bound(figure)), entry(number+1))
	}
	wantEntries(t, s, want...)
}

// Sums saturate: of entries, of what was spent, of what was pruned, and of both.
func testSumsSaturate(t *testing.T, database LedgerDatabase) {
	const rows = 1100 // of the largest amount each, of which 1024 are as much as a sum can be
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	for from := int64(0); from < rows; from += 100 {
		var entries []*ledger.Entry
		for n := from; n < from+100; n++ {
			e := absurd(n, math.MaxInt64)
			e.FirstEvent = math.MaxInt64
			e.KeyID, e.Start = "key", epoch().Add(time.Duration(n/600)*24*time.Hour)
			entries = append(entries, e)
		}
		write(t, s, process, entries...)
		write(t, s, process, entries...)
	}
	check := func(when string) {
		t.Helper()
		for _, query := range []ledger.Query{{}, {By: []ledger.Dimension{ledger.ByKey}}, {By: []ledger.Dimension{ledger.ByOwner, ledger.ByUpstream}}} {
			got := report(t, s, query)
			if len(got) != 1 || got[0].Requests != rows || got[0].OK != rows {
				t.Fatalf("%s, by %v: %+v", when, query.By, got)
			}
			if f := got[0].FirstEvents; f.Sum != amount.Max || f.Count() != rows || f.Mean() <= 0 {
				t.Errorf("%s, by %v: %+v", when, query.By, f)
			}
			sum := ledger.Entry{Result: ledger.Result{Usage: got[0].Usage, Cost: got[0].Cost}}
			for i, f := range figures(&sum) {
				if *f != amount.Max {
					t.Errorf("%s, by %v: figure %d is %d", when, query.By, i, *f)
				}
			}
		}
		byDay := report(t, s, ledger.Query{By: []ledger.Dimension{ledger.ByDay}})
		if len(byDay) != 2 || byDay[0].Cost != 600*amount.Exact || byDay[1].Images != 500*amount.Exact {
			t.Errorf("%s, by day: %+v", when, byDay)
		}
		spent, err := s.Spent(t.Context(), time.Time{}, "", "")
		if err != nil || len(spent) != 1 || spent[0].Cost != amount.Max {
			t.Errorf("%s: %+v was spent, %v", when, spent, err)
		}
	}
	check("as entries")
	for n, pruned := range []int64{600, 500} {
		day := epoch().Add(time.Duration(n+1) * 24 * time.Hour)
		if got, err := s.Prune(t.Context(), day, rows); err != nil || got != pruned {
			t.Fatalf("%d were pruned, want %d: %v", got, pruned, err)
		}
		check("pruned")
	}
	// What comes later of a pruned day is added to what is full.
	late := absurd(rows, math.MaxInt64)
	late.KeyID = "key"
	for range 3 {
		write(t, s, process, late)
		if _, err := s.Prune(t.Context(), epoch().Add(48*time.Hour), rows); err != nil {
			t.Fatal(err)
		}
		late.Number++
	}
	if got := report(t, s, ledger.Query{}); len(got) != 1 || got[0].Requests != rows+3 || got[0].Cost != amount.Max {
		t.Errorf("%+v", got)
	}
}

// Usage that was counted instead of reported is marked, in entries, reports and what was pruned.
func testUsageSources(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	var entries []*ledger.Entry
	for n, source := range []ledger.UsageSource{ledger.Reported, ledger.Estimated, ledger.Rejected, ledger.Estimated} {
		e := entry(int64(n))
		e.UsageSource, e.KeyID = source, "key"
		entries = append(entries, e)
	}
	write(t, s, process, entries...)
	wantEntries(t, s, entries...)
	for _, pruned := range []bool{false, true} {
		if pruned {
			if n, err := s.Prune(t.Context(), epoch().Add(48*time.Hour), 10); err != nil || n != 4 {
				t.Fatal(n, err)
			}
		}
		got := report(t, s, ledger.Query{By: []ledger.Dimension{ledger.ByKey}})
		if len(got) != 1 || got[0].Estimated != 3 || got[0].Rejected != 1 {
			t.Errorf("pruned %t: %+v", pruned, got)
		}
	}
}
