//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/google/go-cmp/cmp"
)

// rollOnce is Roll, made again while transactions of other tests on the same server are open.
func rollOnce(t *testing.T, s ledger.Store, before time.Time) (done bool, err error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if done, err = s.Roll(t.Context(), before); !errors.Is(err, store.ErrTransactionOpen) || time.Now().After(deadline) {
			return done, err
		}
	}
}

// roll does all steps that there are.
func roll(t *testing.T, s ledger.Store, before time.Time) (steps int) {
	t.Helper()
	for ; ; steps++ {
		done, err := rollOnce(t, s, before)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			return steps
		}
	}
}

// allEntries are those that have rows.
func allEntries(t *testing.T, s ledger.Store) (all []*ledger.Entry) {
	t.Helper()
	for e, err := range s.Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// summed is a report as all entries and what was pruned make it, reckoned here.
func summed(t *testing.T, s ledger.Store, entries []*ledger.Entry, query ledger.Query) []ledger.Row {
	t.Helper()
	rows := map[string]*ledger.Row{}
	add := func(r ledger.Row) {
		key := strings.Join(r.Values, "\x00")
		if rows[key] == nil {
			rows[key] = &ledger.Row{Values: r.Values}
		}
		rows[key].Add(r)
	}
	pruned := query
	pruned.Pruned = true
	for _, r := range report(t, s, pruned) {
		add(r)
	}
	for _, e := range entries {
		if e.Start.Before(query.Since) || !query.Until.IsZero() && !e.Start.Before(query.Until) {
			continue
		}
		r := ledger.RowOf(e)
		r.Values = make([]string, len(query.By))
		for i, by := range query.By {
			r.Values[i] = by.Of(e)
		}
		add(r)
	}
	var all []ledger.Row
	for _, r := range rows {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b ledger.Row) int { return slices.Compare(a.Values, b.Values) })
	return all
}

// exact compares reports of many kinds with what the entries say.
func exact(t *testing.T, s ledger.Store, random *rand.Rand, hours int, when string) {
	t.Helper()
	moment := func() time.Time {
		if random.IntN(3) == 0 {
			return time.Time{}
		}
		at := epoch().Add(time.Duration(random.IntN(hours)) * time.Hour)
		return at.Truncate([]time.Duration{1, time.Hour, 24 * time.Hour}[random.IntN(3)])
	}
	entries := allEntries(t, s)
	for _, by := range [][]ledger.Dimension{nil, {ledger.ByDay}, {ledger.ByHour}, {ledger.ByModel, ledger.ByHour, ledger.ByDay}, {ledger.ByKey, ledger.ByDay}, {ledger.ByProtocol, ledger.ByModel, ledger.ByUpstream, ledger.ByServed}, ledger.Dimensions} {
		query := ledger.Query{By: by, Since: moment(), Until: moment()}
		if diff := cmp.Diff(summed(t, s, entries, query), report(t, s, query)); diff != "" {
			t.Fatalf("%s, by %v from %s until %s (-entries +report):\n%s", when, by, query.Since, query.Until, diff)
		}
	}
}

// anyEntry is the n-th entry, with a time, values and an outcome that are chosen at random.
func anyEntry(random *rand.Rand, n int64, hours int) *ledger.Entry {
	e := entry(n)
	e.Start = epoch().Add(time.Duration(random.IntN(hours*3600)) * time.Second)
	if random.IntN(4) == 0 {
		e.Start = e.Start.Truncate(time.Hour) // the first moment of an hour, and of a day at times
	}
	e.KeyID, e.Owner = fmt.Sprint("key_", random.IntN(3)), fmt.Sprint("o", random.IntN(2))
	e.Request.Model, e.Upstream = fmt.Sprint("m", random.IntN(2)), []string{"", "u"}[random.IntN(2)]
	e.Outcome = []ledger.Outcome{ledger.OK, ledger.Failed, ledger.Cancelled, ledger.Interrupted, ledger.Open}[random.IntN(5)]
	if random.IntN(3) == 0 {
		e.Price, e.UsageSource = "", ledger.Rejected
	}
	e.FirstEvent = []time.Duration{0, -time.Second, time.Nanosecond, time.Microsecond << random.IntN(42), 16 * time.Millisecond << random.IntN(15)}[random.IntN(5)]
	if e.Outcome == ledger.Open || e.Outcome == ledger.Interrupted {
		e.Result = ledger.Result{Outcome: e.Outcome}
	}
	return e
}

// Whatever happens in whatever order, reports say what the entries say.
func testRollAnyOrder(t *testing.T, database LedgerDatabase) {
	const hours = 24 * 3 // a day that is whole, and parts of others
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 29)) //nolint:gosec // a test's
		s, other := openLedger(t, database), openLedger(t, database)
		processes := []int64{begin(t, s, epoch()), begin(t, s, epoch())}
		var last int64
		some := func(n int64) *ledger.Entry { return anyEntry(random, n, hours) }
		for step := range 25 {
			what := ""
			switch random.IntN(6) {
			case 0, 1:
				what = "new entries"
				var entries []*ledger.Entry
				for range 20 {
					entries = append(entries, some(last))
					last++
				}
				write(t, s, processes[random.IntN(2)], entries...)
			case 2:
				what = "entries again, and closed"
				var entries []*ledger.Entry
				for range 10 {
					entries = append(entries, some(random.Int64N(last+1)))
				}
				write(t, other, processes[random.IntN(2)], entries...)
			case 3:
				what = "a few steps"
				for range random.IntN(80) {
					if _, err := rollOnce(t, s, epoch().Add(time.Duration(random.IntN(2*hours))*time.Hour)); err != nil {
						t.Fatal(err)
					}
				}
			case 4:
				what = "all steps"
				roll(t, other, epoch().Add(2*hours*time.Hour))
			case 5:
				what = "a prune"
				if _, err := s.Prune(t.Context(), epoch().Add(time.Duration(random.IntN(hours/3))*time.Hour), 7); err != nil {
					t.Fatal(err)
				}
			}
			exact(t, s, random, hours, fmt.Sprintf("seed %d, step %d: %s", seed, step, what))
		}
		if _, err := s.End(t.Context(), processes[0]); err != nil {
			t.Fatal(err)
		}
		exact(t, s, random, hours, "ended")
		for n, want := range []bool{true, false} {
			if steps := roll(t, s, epoch().Add(2*hours*time.Hour)); (steps > 0) != want {
				t.Errorf("%d steps, the %d. time", steps, n+1)
			}
		}
		exact(t, s, random, hours, "rolled up")
	}
}

// Writers, two that roll up and one that prunes are in nobody's way, and lose nothing.
func testRollConcurrently(t *testing.T, database LedgerDatabase) {
	const processes, each = 2, 30
	var writing, rolling sync.WaitGroup
	ended := make(chan struct{})
	for range processes {
		s := openLedger(t, database)
		process := begin(t, s, epoch())
		writing.Go(func() {
			for n := range int64(each) {
				e := dated(n, int(n))
				opened := &ledger.Entry{Number: n, Request: e.Request, Result: ledger.Result{Outcome: ledger.Open}}
				for _, entry := range []*ledger.Entry{opened, e, dated(each+n, 0)} {
					if err := s.Write(t.Context(), process, []*ledger.Entry{entry}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		roller := openLedger(t, database)
		rolling.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if _, err := rollOnce(t, roller, epoch().Add(each*time.Hour)); err != nil {
					t.Error(err)
				}
				var requests int64
				for _, r := range report(t, roller, ledger.Query{By: []ledger.Dimension{ledger.ByKey}}) {
					requests += r.Requests
				}
				if requests > 2*processes*each {
					t.Errorf("%d requests", requests)
				}
				if _, err := roller.Prune(t.Context(), epoch().Add(10*time.Hour), 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(ended)
	rolling.Wait()
	s := openLedger(t, database)
	roll(t, s, epoch().Add(2*each*time.Hour))
	rows := report(t, s, ledger.Query{})
	var cost int64
	for n := range int64(2 * each) {
		cost += processes * (1000*n + 15)
	}
	if len(rows) != 1 || rows[0].Requests != 2*processes*each || rows[0].OK != rows[0].Requests || rows[0].Cost != cost {
		t.Errorf("%+v, want %d requests that cost %d", rows, 2*processes*each, cost)
	}
	if diff := cmp.Diff(summed(t, s, allEntries(t, s), ledger.Query{By: ledger.Dimensions}), report(t, s, ledger.Query{By: ledger.Dimensions})); diff != "" {
		t.Errorf("(-entries +report):\n%s", diff)
	}
}

// One of the processes that are alive leads.
func testLeads(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	// Case N64: one that died while the clock was a day ahead does not lead until then.
	begin(t, s, epoch().Add(24*time.Hour))
	first, second := begin(t, s, epoch()), begin(t, s, epoch().Add(90*time.Second))
	for _, test := range []struct {
		process int64
		dead    time.Time
		want    bool
	}{{first, epoch(), true}, {second, epoch(), false}, {first, epoch().Add(time.Minute), false}, {second, epoch().Add(time.Minute), true}, {second, epoch().Add(2 * time.Hour), false}} {
		if got, err := s.Leads(t.Context(), test.process, test.dead); err != nil || got != test.want {
			t.Errorf("%d, silent since %s is dead: %t, %v", test.process, test.dead, got, err)
		}
	}
}

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
