//go:build unix

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// daily is a database whose ledger has a partition for each of four days from first on.
func daily(t testing.TB, first time.Time) (location string, s *store.Store) {
	t.Helper()
	location = migrated(t)
	s = opened(t, location)
	if made := extend(t, s, first); made != 4 {
		t.Errorf("%d partitions were made, want 4", made)
	}
	return location, s
}

func reportOf(t testing.TB, s *store.Store, by ...ledger.Dimension) []ledger.Row {
	t.Helper()
	rows, err := s.Ledger().Report(t.Context(), ledger.Query{By: by})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A day whose rows are closed and summed up is pruned by dropping its partition; one with an open row by rows, and
// its partition goes once it is empty. Reports say the same throughout.
func TestP29PruneByPartition(t *testing.T) {
	first := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	location, s := daily(t, first)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	add := func(at time.Time, outcome ledger.Outcome) {
		n := int64(len(entries) + 1)
		e := &ledger.Entry{Number: n, Request: ledger.Request{ID: "req", KeyID: fmt.Sprint("key_", n%2), Model: "m", Start: at}, Result: ledger.Result{Outcome: outcome}}
		if outcome != ledger.Open {
			e.Result = ledger.Result{Outcome: outcome, Attempts: 1, Usage: ledger.Usage{Input: n}, Price: "p", Cost: n * 1000}
		}
		entries = append(entries, e)
	}
	for day := range 4 {
		for half := range 2 {
			add(first.AddDate(0, 0, day).Add(time.Duration(half)*12*time.Hour), []ledger.Outcome{ledger.OK, ledger.Failed}[half])
		}
	}
	add(first.AddDate(0, 0, 1), ledger.Open)
	write := func(entries ...*ledger.Entry) {
		t.Helper()
		if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
			t.Fatal(err)
		}
	}
	write(entries...)
	rollUp(t, s, first.AddDate(0, 0, 5))
	before, byKey := reportOf(t, s, ledger.ByDay), reportOf(t, s, ledger.ByKey, ledger.ByDay)
	same := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, reportOf(t, s, ledger.ByDay)); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		if diff := cmp.Diff(byKey, reportOf(t, s, ledger.ByKey, ledger.ByDay)); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		checkedGood(t, location)
	}
	prune := func(want int64, partitions ...string) {
		t.Helper()
		n, err := ledger.PruneAll(t.Context(), s.Ledger(), first.AddDate(0, 0, 3), nil)
		if err != nil || n != want {
			t.Errorf("%d rows are pruned, want %d: %v", n, want, err)
		}
		if got := partitionsOf(t, location); !slices.Equal(got, partitions) {
			t.Errorf("rows: %q, want %q", got, partitions)
		}
		same("pruned")
	}
	prune(6, "ledger_20260303 1", "ledger_20260305 2")

	// What ends late is closed in its row, and the day goes with it.
	closed := *entries[len(entries)-1]
	closed.Result = ledger.Result{Outcome: ledger.Cancelled}
	write(&closed)
	before, byKey = reportOf(t, s, ledger.ByDay), reportOf(t, s, ledger.ByKey, ledger.ByDay)
	prune(1, "ledger_20260305 2")

	// A row of a day that has no partition any more is kept in the default one, and pruned.
	late := &ledger.Entry{Number: 1000, Request: ledger.Request{ID: "late", KeyID: "key_0", Model: "m", Start: first.Add(time.Hour)}, Result: ledger.Result{Outcome: ledger.OK}}
	write(late, late)
	write(late)
	if got := partitionsOf(t, location); !slices.Equal(got, []string{"ledger_20260305 2", "ledger_default 1"}) {
		t.Errorf("a late row: %q", got)
	}
	before, byKey = reportOf(t, s, ledger.ByDay), reportOf(t, s, ledger.ByKey, ledger.ByDay)
	prune(1, "ledger_20260305 2")
	if names := column(t, raw(t, location), `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'ledger'::regclass ORDER BY 1`); len(names) != 2 {
		t.Errorf("partitions that are left: %q", names)
	}
}

func rollUp(t testing.TB, s *store.Store, before time.Time) {
	t.Helper()
	if _, err := ledger.RollAll(t.Context(), s.Ledger(), before); err != nil {
		t.Fatal(err)
	}
}

// Rows of clocks that are a day ahead or behind are in the partition of their day, others in the default one, from
// which a day that gets its partition takes them. Each is written again and closed where it is.
func TestClocksAndPartitions(t *testing.T) {
	first := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	location, s := daily(t, first)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	now := first.Add(23*time.Hour + 59*time.Minute)
	write := func(outcome ledger.Outcome) {
		t.Helper()
		var entries []*ledger.Entry
		for n, at := range []time.Time{now, now.Add(aDay), now.Add(-aDay), now.Add(40 * aDay), time.UnixMicro(0), time.UnixMicro(-1), time.UnixMicro(1<<63 - 1)} {
			entries = append(entries, &ledger.Entry{Number: int64(n), Request: ledger.Request{ID: "req", Start: at}, Result: ledger.Result{Outcome: outcome}})
		}
		for range 2 {
			if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
				t.Fatal(err)
			}
		}
	}
	where := func(want ...string) {
		t.Helper()
		if got := partitionsOf(t, location); !slices.Equal(got, want) {
			t.Errorf("rows: %q, want %q", got, want)
		}
	}
	write(ledger.Open)
	where("ledger_20260302 1", "ledger_20260303 1", "ledger_default 5")
	if made := extend(t, s, now.Add(38*aDay)); made != 4 {
		t.Errorf("%d partitions are made", made)
	}
	where("ledger_20260302 1", "ledger_20260303 1", "ledger_20260411 1", "ledger_default 4")
	write(ledger.OK)
	where("ledger_20260302 1", "ledger_20260303 1", "ledger_20260411 1", "ledger_default 4")
	if rows := reportOf(t, s); len(rows) != 1 || rows[0].Requests != 7 || rows[0].OK != 7 {
		t.Errorf("%+v", rows)
	}
}

// An entry that a program writes with two times is two rows, which PostgreSQL cannot refuse: the check of the
// ledger says so.
func TestRepeatedEntriesAreFound(t *testing.T) {
	first := time.Now().UTC().Truncate(aDay).AddDate(0, 0, -2)
	_, s := daily(t, first)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{first, first, first.Add(aDay)} {
		e := &ledger.Entry{Number: 7, Request: ledger.Request{ID: "req", Start: at}, Result: ledger.Result{Outcome: ledger.OK}}
		if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	repeated, err := s.Ledger().(ledger.Partitioner).Repeated(t.Context(), 10)
	if err != nil || !slices.Equal(repeated, []ledger.Key{{Process: process, Number: 7}}) {
		t.Errorf("%+v, %v", repeated, err)
	}
}
