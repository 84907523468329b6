//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

// dated is the n-th entry, begun so many hours after the first.
func dated(n int64, hours int) *ledger.Entry {
	e := entry(n)
	e.Start = epoch().Add(time.Duration(hours) * time.Hour)
	return e
}

func report(t *testing.T, s ledger.Store, query ledger.Query) []ledger.Row {
	t.Helper()
	rows, err := s.Report(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func testReportSeveral(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	if rows := report(t, s, ledger.Query{}); len(rows) != 0 {
		t.Errorf("of nothing: %+v", rows)
	}
	process := begin(t, s, epoch())
	var entries []*ledger.Entry
	for n := range int64(8) {
		e := dated(n, int(12*n))
		e.Owner, e.Usage = []string{"a", "b"}[n/4], ledger.Usage{Input: n}
		if n%4 == 3 {
			e.Price, e.Cost, e.Unpriced = "", 0, true
		}
		entries = append(entries, e)
	}
	write(t, s, process, entries...)
	got := report(t, s, ledger.Query{By: []ledger.Dimension{ledger.ByOwner, ledger.ByKey}, Since: entries[1].Start, Until: entries[7].Start})
	want := []ledger.Row{
		{Values: []string{"a", "key_0"}, Requests: 1, OK: 1, Usage: ledger.Usage{Input: 2}, Cost: 2015, FirstEvents: firstEvents(1, 2)},
		{Values: []string{"a", "key_1"}, Requests: 2, OK: 2, Usage: ledger.Usage{Input: 1 + 3}, Cost: 1015, Unpriced: 1, FirstEvents: firstEvents(2, 1, 3)},
		{Values: []string{"b", "key_0"}, Requests: 2, OK: 2, Usage: ledger.Usage{Input: 4 + 6}, Cost: 4015 + 6015, FirstEvents: firstEvents(2, 4, 6)},
		{Values: []string{"b", "key_1"}, Requests: 1, OK: 1, Usage: ledger.Usage{Input: 5}, Cost: 5015, FirstEvents: firstEvents(1, 5)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by owner and key (-want +got):\n%s", diff)
	}
	total := report(t, s, ledger.Query{})
	if len(total) != 1 || total[0].Requests != 8 || total[0].Input != 28 || len(total[0].Values) != 0 {
		t.Errorf("in all: %+v", total)
	}
	if _, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey, ledger.ByKey}}); err == nil {
		t.Error("a report by keys twice")
	}
}

func testSpent(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	other := dated(4, 24)
	other.Owner = "b"
	free := dated(6, 24)
	free.Cost = 0
	write(t, s, process, dated(1, 0), dated(2, 24), dated(3, 24), other, dated(5, 48), free, opening(7))
	day := dated(2, 24).Start.Truncate(24 * time.Hour)
	first := ledger.ProcessName(process, epoch())
	want := []ledger.Spend{{Process: first, KeyID: "key_0", Owner: "b", Cost: 4015}, {Process: first, KeyID: "key_0", Owner: "team 鍵", Cost: 2015}, {Process: first, KeyID: "key_1", Owner: "team 鍵", Cost: 3015 + 5015}}
	check := func(when string, since time.Time) {
		t.Helper()
		by := map[[2]string][]ledger.Spend{{}: want, {"key_none"}: nil, {"", "none"}: nil}
		for _, spend := range want {
			for _, who := range [][2]string{{spend.KeyID}, {"", spend.Owner}} {
				by[who] = append(by[who], spend)
			}
		}
		for who, want := range by {
			got, err := s.Spent(t.Context(), since, who[0], who[1])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, by %q (-want +got):\n%s", when, who, diff)
			}
		}
	}
	check("as entries", day)
	check("since the middle of the day", day.Add(13*time.Hour))
	if _, err := s.Prune(t.Context(), day.Add(24*time.Hour), 100); err != nil {
		t.Fatal(err)
	}
	check("pruned", day)
	// What is written again counts once, whatever is new beside it, and what was interrupted
	// once it is known. Those of another process are its own.
	lost, late := interrupted(8), dated(8, 48)
	lost.Start = late.Start
	write(t, s, process, dated(5, 48), lost)
	check("written again", day)
	write(t, s, process, dated(5, 48), late, dated(9, 48), dated(9, 48), dated(11, 48))
	write(t, s, process, late, dated(9, 48))
	want[2].Cost += 9015 + 11015
	want[1].Cost += 8015
	check("written again beside others", day)
	second := epoch().Add(time.Second)
	another := begin(t, s, second)
	write(t, s, another, dated(5, 48))
	want = append(want, ledger.Spend{Process: ledger.ProcessName(another, second), KeyID: "key_1", Owner: "team 鍵", Cost: 5015})
	check("of another process", day)
	// What no budget knows any more is forgotten.
	for _, days := range []int{31, 40} {
		if _, err := s.Prune(t.Context(), day.AddDate(0, 0, days), 100); err != nil {
			t.Fatal(err)
		}
		got, err := s.Spent(t.Context(), time.Time{}, "", "")
		if err != nil || (len(got) == 0) != (days == 40) {
			t.Errorf("%d days later: %v, %v", days, got, err)
		}
	}
}

func testPrune(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	failed, unpriced := dated(2, 1), dated(3, 24)
	failed.Outcome, unpriced.Price, unpriced.Unpriced = ledger.Failed, "", true
	left := opening(9)
	left.Start = epoch()
	write(t, s, process, dated(1, 0), failed, unpriced, dated(4, 25), dated(5, 49), left)
	queries := []ledger.Query{{}}
	for _, d := range ledger.Dimensions {
		queries = append(queries, ledger.Query{By: []ledger.Dimension{d}}, ledger.Query{By: []ledger.Dimension{d}, Since: epoch().Truncate(24 * time.Hour).Add(24 * time.Hour)})
	}
	queries = append(queries, ledger.Query{By: ledger.Dimensions})
	var before [][]ledger.Row
	for _, q := range queries {
		before = append(before, report(t, s, q))
	}
	// The day that before is in stays, and what is open; two at a time are removed.
	for i, want := range []int64{2, 2, 0} {
		if n, err := s.Prune(t.Context(), dated(5, 49).Start, 2); err != nil || n != want {
			t.Errorf("the %d. time %d were pruned, %v, want %d", i+1, n, err, want)
		}
		for i, q := range queries {
			if diff := cmp.Diff(before[i], report(t, s, q)); diff != "" {
				t.Errorf("by %s since %s (-before +after):\n%s", q.By, q.Since, diff)
			}
		}
	}
	wantEntries(t, s, dated(5, 49), left)
	var pruned int64
	for _, r := range report(t, s, ledger.Query{Pruned: true}) {
		pruned += r.Requests
	}
	if pruned != 4 {
		t.Errorf("%d requests of what was pruned", pruned)
	}
	// Of what was pruned the day is known, beside the hours of what is not.
	var hours []string
	for _, r := range report(t, s, ledger.Query{By: []ledger.Dimension{ledger.ByHour}}) {
		hours = append(hours, r.Values[0])
	}
	if diff := cmp.Diff([]string{"2026-02-28", "2026-02-28T23", "2026-03-01", "2026-03-02", "2026-03-03T00"}, hours); diff != "" {
		t.Errorf("by hour (-want +got):\n%s", diff)
	}
	// What began with the last of a batch goes with it.
	same := []*ledger.Entry{dated(11, 24), dated(12, 24), dated(13, 24)}
	write(t, s, process, same...)
	if n, err := s.Prune(t.Context(), dated(5, 49).Start, 1); err != nil || n != 3 {
		t.Errorf("%d were pruned, %v", n, err)
	}
}

func testPruneConcurrently(t *testing.T, database LedgerDatabase) {
	const processes, each = 2, 40
	var wait sync.WaitGroup
	for range processes {
		s := openLedger(t, database)
		process := begin(t, s, epoch())
		wait.Go(func() {
			for n := range int64(each) {
				e := dated(n, int(n))
				opened := &ledger.Entry{Number: n, Request: e.Request, Result: ledger.Result{Outcome: ledger.Open}}
				for _, entry := range []*ledger.Entry{opened, e} {
					if err := s.Write(t.Context(), process, []*ledger.Entry{entry}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		pruner := openLedger(t, database)
		wait.Go(func() {
			for range each {
				if _, err := pruner.Prune(t.Context(), epoch().Add(each*time.Hour), 7); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	rows := report(t, openLedger(t, database), ledger.Query{})
	var cost int64
	for n := range int64(each) {
		cost += processes * (1000*n + 15)
	}
	if len(rows) != 1 || rows[0].Requests != processes*each || rows[0].OK != processes*each || rows[0].Cost != cost {
		t.Errorf("%+v, want %d requests that cost %d", rows, processes*each, cost)
	}
}

func testLeft(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	dead, alive := begin(t, s, epoch()), begin(t, s, epoch().Add(time.Hour))
	write(t, s, dead, opening(1), opening(2), entry(3))
	write(t, s, alive, opening(1))
	for hours, want := range map[int]int64{0: 0, 1: 2, 2: 3} {
		if n, err := s.Left(t.Context(), epoch().Add(time.Duration(hours)*time.Hour)); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", fmt.Sprint("after ", hours, " hours"), n, err, want)
		}
	}
}
