//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

// firstEvents are those of so many requests, of which these entries had one. That of each came within
// 16 ms.
func firstEvents(known int64, of ...int64) ledger.FirstEvents {
	f := ledger.FirstEvents{Known: known, Buckets: [ledger.FirstEventBuckets]int64{int64(len(of))}}
	for _, n := range of {
		f.Sum += entry(n).FirstEvent.Microseconds()
	}
	return f
}

func testReport(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	outcomes := []ledger.Outcome{ledger.OK, ledger.Failed, ledger.Cancelled, ledger.OK}
	var entries []*ledger.Entry
	for n, outcome := range outcomes {
		e := entry(int64(n))
		e.Outcome = outcome
		e.Protocol = []string{"messages", "grpc"}[n/3]
		e.Request.Model = []string{"b", "a"}[n%2]
		e.Upstream = []string{"", "x"}[min(n, 1)]
		entries = append(entries, e)
	}
	write(t, s, process, entries...)
	write(t, s, process, opening(4), opening(5))
	if _, err := s.End(t.Context(), process); err != nil {
		t.Fatal(err)
	}
	write(t, s, process, opening(6))

	all, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByProtocol}})
	if err != nil {
		t.Fatal(err)
	}
	// Figures are 1000n+i for the n-th entry and the i-th figure.
	sum := func(i int64, of ...int64) (total int64) {
		for _, n := range of {
			total += 1000*n + i
		}
		return total
	}
	usage := func(of ...int64) ledger.Usage {
		return usage(func(i int64) int64 { return sum(i, of...) })
	}
	want := []ledger.Row{
		{Values: []string{"chat_completions"}, Requests: 3, Interrupted: 2, Open: 1, FirstEvents: firstEvents(3)},
		{Values: []string{"grpc"}, Requests: 1, OK: 1, Usage: usage(3), Cost: sum(15, 3), FirstEvents: firstEvents(1, 3)},
		{Values: []string{"messages"}, Requests: 3, OK: 1, Failed: 1, Cancelled: 1, Usage: usage(0, 1, 2), Cost: sum(15, 0, 1, 2), FirstEvents: firstEvents(3, 0, 1, 2)},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("by protocol (-want +got):\n%s", diff)
	}

	for by, want := range map[ledger.Dimension][]string{
		ledger.ByKey:      {"key_0", "key_1"},
		ledger.ByModel:    {"a", "b", opening(4).Request.Model},
		ledger.ByDay:      {"2026-02-28", "2026-03-01"},
		ledger.ByHour:     {"2026-02-28T23", "2026-03-01T00"},
		ledger.ByUpstream: {"", "x"},
		ledger.ByOwner:    {"team 鍵"},
		ledger.ByServed:   {"", "served"},
	} {
		rows, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{by}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var requests int64
		for _, r := range rows {
			got = append(got, r.Values...)
			requests += r.Requests
		}
		if diff := cmp.Diff(want, got); diff != "" || requests != 7 {
			t.Errorf("by %s: %d requests (-want +got):\n%s", by, requests, diff)
		}
	}

	since := func(at time.Time) (requests int64) {
		rows, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey}, Since: at})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			requests += r.Requests
		}
		return requests
	}
	if exactly, after := since(entry(5).Start), since(entry(6).Start.Add(time.Microsecond)); exactly != 2 || after != 0 {
		t.Errorf("since the fifth: %d, after all: %d", exactly, after)
	}
	for limit, want := range map[int]int{0: 3, 1: 1, 2: 2, 3: 3, 4: 3} {
		rows, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByProtocol}, Limit: limit})
		if err != nil || len(rows) != want || rows[0].Values[0] != "chat_completions" || rows[0].Requests != 3 {
			t.Errorf("at most %d: %+v, %v", limit, rows, err)
		}
	}
	if _, err := s.Report(t.Context(), ledger.Query{By: []ledger.Dimension{"colour"}}); err == nil {
		t.Error("a report by what does not exist")
	}
}
