//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

func searcher(t *testing.T, s ledger.Store) ledger.Searcher {
	t.Helper()
	found, ok := s.(ledger.Searcher)
	if !ok {
		t.Fatalf("%T finds no entries", s)
	}
	return found
}

func testSearchPages(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	var want []ledger.Key
	for range 2 {
		process := begin(t, s, epoch())
		var entries []*ledger.Entry
		for n := range int64(10) {
			e := entry(n)
			e.Start = epoch().Add(time.Duration(n/3) * time.Second) // several began at once
			entries = append(entries, e)
			want = append(want, ledger.Key{Process: process, Number: n})
		}
		write(t, s, process, entries...)
	}
	for _, size := range []int{1, 3, 7, 20, 1000} {
		var got []ledger.Key
		var after *ledger.Position
		var last *ledger.Located
		for pages := 0; ; pages++ {
			page, err := searcher(t, s).Search(t.Context(), ledger.Filter{}, after, size)
			if err != nil || len(page.Entries) > size || pages > 20 {
				t.Fatalf("page %d of %d: %d entries, %v", pages, size, len(page.Entries), err)
			}
			for i := range page.Entries {
				e := &page.Entries[i]
				if last != nil && last.Start.Before(e.Start) {
					t.Errorf("size %d: %v is behind %v", size, e.Start, last.Start)
				}
				last = e
				got = append(got, ledger.Key{Process: e.Process, Number: e.Number})
			}
			if after = page.Next; after == nil {
				break
			}
		}
		sorted := slices.SortedFunc(slices.Values(got), func(a, b ledger.Key) int {
			return slices.Compare([]int64{a.Process, a.Number}, []int64{b.Process, b.Number})
		})
		if !slices.Equal(sorted, want) {
			t.Errorf("pages of %d have %v", size, got)
		}
	}
}

func testSearchFilters(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	plain := entry(1)
	plain.Losses, plain.Attempts = "", 1
	failed := entry(2)
	failed.Outcome, failed.Kind, failed.Reason = ledger.Failed, "overloaded", "UPSTREAM_BUSY"
	other := entry(3)
	other.KeyID, other.Owner, other.Protocol, other.UpstreamProtocol, other.Request.Model, other.Result.Model = "key_x", "owner", "its way in", "its way out", "asked", "answered"
	other.Outcome, other.Kind = ledger.Failed, "" // a fault whose kind is not known
	other.ID, other.TraceID, other.Route, other.Upstream = "req_x", "trace", "route", "upstream"
	open := opening(4)
	write(t, s, process, plain, failed, other, open)
	at := func(n int64) time.Time { return entry(n).Start }
	for name, c := range map[string]struct {
		filter ledger.Filter
		want   []int64
	}{
		"all":               {ledger.Filter{}, []int64{4, 3, 2, 1}},
		"since":             {ledger.Filter{Since: at(2)}, []int64{4, 3, 2}},
		"until":             {ledger.Filter{Until: at(2)}, []int64{1}},
		"of no time":        {ledger.Filter{Since: at(3), Until: at(2)}, nil},
		"all times":         {ledger.Filter{Since: time.Unix(-62135596800, 0), Until: time.Unix(253402300799, 0)}, []int64{4, 3, 2, 1}},
		"failed":            {ledger.Filter{Outcomes: []ledger.Outcome{ledger.Failed}}, []int64{3, 2}},
		"failed or open":    {ledger.Filter{Outcomes: []ledger.Outcome{ledger.Failed, ledger.Open}}, []int64{4, 3, 2}},
		"key":               {ledger.Filter{KeyID: "key_x"}, []int64{3}},
		"key and outcome":   {ledger.Filter{KeyID: "key_0", Outcomes: []ledger.Outcome{ledger.Failed}}, []int64{2}},
		"owner":             {ledger.Filter{Owner: "owner"}, []int64{3}},
		"protocol":          {ledger.Filter{Protocol: "its way in"}, []int64{3}},
		"upstream protocol": {ledger.Filter{UpstreamProtocol: "a way out"}, []int64{2, 1}},
		"model":             {ledger.Filter{Model: "asked"}, []int64{3}},
		"served model":      {ledger.Filter{Served: "answered"}, []int64{3}},
		"route":             {ledger.Filter{Route: "route"}, []int64{3}},
		"upstream":          {ledger.Filter{Upstream: "upstream"}, []int64{3}},
		"request":           {ledger.Filter{RequestID: "req_x"}, []int64{3}},
		"trace":             {ledger.Filter{TraceID: "trace"}, []int64{3}},
		"kind":              {ledger.Filter{Kind: "overloaded"}, []int64{2}},
		"reason":            {ledger.Filter{Reason: "UPSTREAM_BUSY"}, []int64{2}},
		"without kind":      {ledger.Filter{WithoutKind: true}, []int64{4, 3}},
		"no kind, failed":   {ledger.Filter{WithoutKind: true, Outcomes: []ledger.Outcome{ledger.Failed}}, []int64{3}},
		"no kind and one":   {ledger.Filter{WithoutKind: true, Kind: "overloaded"}, nil},
		"lost":              {ledger.Filter{Lost: true}, []int64{3, 2}},
		"retried":           {ledger.Filter{Retried: true}, []int64{3, 2}},
		"nothing like it":   {ledger.Filter{Model: "' OR 1=1 --\x00"}, nil},
	} {
		page, err := searcher(t, s).Search(t.Context(), c.filter, nil, 10)
		var got []int64
		for _, e := range page.Entries {
			got = append(got, e.Number)
		}
		if err != nil || page.Next != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, next %v, want %v: %v", name, got, page.Next, c.want, err)
		}
		var meant []int64
		for _, e := range []*ledger.Entry{open, other, failed, plain} {
			if c.filter.Means(e) {
				meant = append(meant, e.Number)
			}
		}
		if !slices.Equal(meant, c.want) {
			t.Errorf("%s means %v, want %v", name, meant, c.want)
		}
	}
}

func testFindEntry(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	for n := range int64(5) {
		write(t, s, process, entry(n))
	}
	late := entry(6)
	late.Start = late.Start.Add(2 * time.Hour)
	write(t, s, process, late)
	got, err := searcher(t, s).Find(t.Context(), process, 4)
	if err != nil || got == nil || got.Process != process || !cmp.Equal(got.Entry, entry(4)) {
		t.Errorf("found %+v, %v", got, err)
	}
	for _, key := range []ledger.Key{{Process: process, Number: 99}, {Process: -1, Number: 4}} {
		if got, err := searcher(t, s).Find(t.Context(), key.Process, key.Number); got != nil || err != nil {
			t.Errorf("%v: found %+v, %v", key, got, err)
		}
	}
	for trace, want := range map[string]int{entry(0).TraceID: 2, "none": 0, "": 0} {
		near, err := searcher(t, s).Neighbours(t.Context(), trace, entry(0).Start, 10)
		if err != nil || len(near) != want {
			t.Errorf("%q has %d neighbours, want %d: %v", trace, len(near), want, err)
		}
	}
	if near, err := searcher(t, s).Neighbours(t.Context(), entry(0).TraceID, entry(0).Start, 1); err != nil || len(near) != 1 || near[0].Number != 0 {
		t.Errorf("one neighbour: %v, %v", near, err)
	}
}

func testTail(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	one, other := begin(t, s, epoch()), begin(t, s, epoch())
	write(t, s, one, entry(1), opening(2), opening(3))
	var cursor ledger.Cursor
	tail := func() (got []ledger.Key) {
		t.Helper()
		ended, dropped, err := searcher(t, s).Tail(t.Context(), &cursor)
		if err != nil || dropped != 0 {
			t.Fatalf("dropped %d, %v", dropped, err)
		}
		for _, e := range ended {
			got = append(got, ledger.Key{Process: e.Process, Number: e.Number})
		}
		slices.SortFunc(got, func(a, b ledger.Key) int {
			return slices.Compare([]int64{a.Process, a.Number}, []int64{b.Process, b.Number})
		})
		return got
	}
	want := func(name string, want ...ledger.Key) {
		t.Helper()
		if got := tail(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	want("what was there")
	write(t, s, one, entry(2), opening(4), entry(5))
	write(t, s, other, entry(1), opening(2))
	want("what has ended", ledger.Key{Process: one, Number: 2}, ledger.Key{Process: one, Number: 5}, ledger.Key{Process: other, Number: 1})
	want("nothing since")
	third := begin(t, s, epoch())
	write(t, s, third, entry(1))
	write(t, s, one, entry(3))
	if _, err := s.End(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	want("a process that is new, and one that ended", ledger.Key{Process: one, Number: 3}, ledger.Key{Process: other, Number: 2}, ledger.Key{Process: third, Number: 1})
	want("nothing since")
}
