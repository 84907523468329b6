//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/google/go-cmp/cmp"
)

// firstEvents expects a histogram of so many requests, of which these entries had a first event. Each came within
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

func testPages(t *testing.T, database Database) {
	s := open(t, database)
	var all []keys.Key
	for n := range 23 {
		k := key(n)
		k.CreateTime = epoch().Add(time.Duration(n/5) * time.Second) // some at once
		k.Owner = []string{"", "ada", "bob"}[n%3]
		end := epoch().Add(time.Duration(n) * time.Minute)
		if n%4 == 0 {
			k.Group = "chat,messages"
		}
		if n%2 == 0 {
			k.ExpireTime = &end
		}
		if n%7 == 0 {
			k.RevokeTime = &end
		}
		all = append(all, k)
	}
	create(t, s, all...)
	now := epoch().Add(10 * time.Minute) // the moment at which the key 10 ends
	for name, query := range map[string]keys.Query{
		"all": {}, "a group": {Group: keys.Groups()[1]}, "an owner": {Owner: "ada"}, "live": {LiveAt: now},
		"all at once": {Group: keys.Groups()[0], Owner: "bob", LiveAt: now},
	} {
		var want, got []keys.Key
		for _, k := range all {
			if (query.Group == "" || k.Group.Has(query.Group)) && (query.Owner == "" || k.Owner == query.Owner) &&
				(query.LiveAt.IsZero() || k.RevokeTime == nil && !k.Expired(now)) {
				want = append(want, k)
			}
		}
		for query.Limit = 4; ; {
			page, err := s.List(t.Context(), query)
			if err != nil || len(page) > 4 {
				t.Fatalf("%s: %d keys, %v", name, len(page), err)
			}
			got = append(got, page...)
			if len(page) < 4 {
				break
			}
			query.After = page[3].ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := s.List(t.Context(), keys.Query{After: "key_nobody", Limit: 1}); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("behind a key that is none: %v", err)
	}
}

func testHolders(t *testing.T, database Database) {
	s := open(t, database)
	two, revoked := full(0), full(1)
	two.RevokeTime = nil
	revoked.Name = "another"
	create(t, s, two, revoked, key(2), key(3))
	for name, test := range map[string]struct {
		asked []keys.Digest
		want  []keys.Key
	}{
		"nothing":         {nil, nil},
		"unknown":         {[]keys.Digest{{1}}, nil},
		"revoked":         {[]keys.Digest{revoked.Secrets[0].Hash, revoked.Secrets[1].Hash}, nil},
		"plain":           {[]keys.Digest{key(2).Secrets[0].Hash}, []keys.Key{key(2)}},
		"the newer":       {[]keys.Digest{two.Secrets[0].Hash}, []keys.Key{two}},
		"the one before":  {[]keys.Digest{two.Secrets[1].Hash}, []keys.Key{two}},
		"several, twice":  {[]keys.Digest{two.Secrets[1].Hash, key(3).Secrets[0].Hash, two.Secrets[0].Hash, two.Secrets[0].Hash, {2}}, []keys.Key{two, key(3)}},
		"hundreds of all": {append(slices.Repeat([]keys.Digest{{3}}, 700), key(2).Secrets[0].Hash, key(3).Secrets[0].Hash), []keys.Key{key(2), key(3)}},
	} {
		list, err := s.Holders(t.Context(), test.asked)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[keys.Digest]keys.Holder{}
		for _, h := range list {
			got[h.Hash] = h
		}
		if diff := cmp.Diff(held(t, test.want...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testChanged(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), key(1), key(2))
	before := version(t, s)
	rest := func(after keys.Position) (all []keys.Position) {
		t.Helper()
		for {
			page, err := s.Changed(t.Context(), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page...)
			if len(page) < 2 {
				return all
			}
			after = page[1]
		}
	}
	all := rest(keys.Position{})
	if len(all) != 3 || all[2].Number != before || all[2].Hash != key(2).Secrets[0].Hash {
		t.Errorf("three keys were made, version %d: %v", before, all)
	}
	last := all[2]
	// A rotation affects the old secret and the new one.
	next := sha256.Sum256([]byte("next"))
	err := update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets[0].Hash = next })
	if err == nil {
		err = revoke(t.Context(), s, key(1).ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[keys.Digest]bool{}
	for _, p := range rest(last) {
		hashes[p.Hash] = true
	}
	want := map[keys.Digest]bool{key(0).Secrets[0].Hash: true, next: true, key(1).Secrets[0].Hash: true}
	if diff := cmp.Diff(want, hashes); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if again := rest(rest(last)[2]); len(again) != 0 {
		t.Errorf("behind the last: %v", again)
	}
}

// Several change keys while one follows: what it knows in the end is what the store has.
func testFollow(t *testing.T, database Database) { //nolint:gocognit // one story
	writers := []keys.Store{open(t, database), open(t, database), open(t, database)}
	reader := open(t, database)
	const each = 25
	known := map[keys.Digest]keys.Holder{}
	var at keys.Position
	follow := func() {
		for {
			page, err := reader.Changed(t.Context(), at, 3)
			if err != nil {
				t.Error(err)
				return
			}
			var hashes []keys.Digest
			for _, p := range page {
				if p.Number < at.Number || p.Number == at.Number && bytes.Compare(p.Hash[:], at.Hash[:]) <= 0 {
					t.Errorf("%v behind %v", p, at)
				}
				at = p
				hashes = append(hashes, p.Hash)
				delete(known, p.Hash)
			}
			list, err := reader.Holders(t.Context(), hashes)
			if err != nil {
				t.Error(err)
				return
			}
			for _, h := range list {
				known[h.Hash] = h
			}
			if len(page) < 3 {
				return
			}
		}
	}
	var wait sync.WaitGroup
	for w, s := range writers {
		wait.Go(func() {
			for n := range each {
				k := key(w*each + n)
				if err := s.Create(t.Context(), []keys.Key{k}, nil); err != nil {
					t.Error(err)
				}
				// It changes a key that another goroutine may change too, and revokes it at its third change.
				err := update(t.Context(), s, key((w*each+n)/2).ID, func(k *keys.Key) {
					if k.Owner += "x"; len(k.Owner) > 2 {
						at := epoch()
						k.RevokeTime = &at
					}
				})
				if err != nil && !errors.Is(err, keys.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		follow()
	}
	if diff := cmp.Diff(live(t, writers[0]), known); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
}

// Many keys are made all or none too, and a name or a secret that is taken is found wherever
// it is among them.
func testCreateMany(t *testing.T, database Database) {
	s := database(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list []keys.Key
	var changes []audit.Change
	for n := range 700 {
		list = append(list, key(n))
		changes = append(changes, changed("key.import", key(n).ID))
	}
	for name, other := range map[string]int{"in the same statement": 690, "in an earlier one": 3} {
		twice, secret := slices.Clone(list), slices.Clone(list)
		twice[699].Name, twice[699].Group = list[other].Name, list[other].Group
		err := s.Keys().Create(t.Context(), twice, changes)
		if taken, ok := errors.AsType[*keys.NameTakenError](err); !ok || taken.Key != list[699].ID || taken.By != list[other].ID {
			t.Errorf("a name twice %s: %v", name, err)
		}
		secret[699].Secrets = list[other].Secrets
		if err := s.Keys().Create(t.Context(), secret, changes); !errors.Is(err, keys.ErrExists) {
			t.Errorf("a secret twice %s: %v", name, err)
		}
	}
	if err := s.Keys().Create(t.Context(), list, changes); err != nil {
		t.Fatal(err)
	}
	if got := live(t, s.Keys()); !maps.Equal(held(t, list...), got) {
		t.Errorf("%d keys are live", len(got))
	}
	if head := verified(t, s); head.Number != 700 {
		t.Errorf("%d entries of the audit", head.Number)
	}
}
