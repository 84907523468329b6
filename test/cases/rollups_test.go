package cases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger/reconcile"

	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

func rollupCases() []Case {
	return []Case{
		{"G10", "reports are made of sums by hour and day, and stay exact whatever comes late, is repeated, corrected or pruned", onDatabases(rollupsStayExact)},
		{"G11", "ledger check proves these sums against the rows, and tells one that is wrong", onDatabases(checkProvesRollups)},
		{"G12", "a check that is broken off goes on where it was, and what it had found is told", onDatabases(checkGoesOn)},
	}
}

// onDatabases runs a test on each kind of database.
func onDatabases(test func(*testing.T, string)) func(*testing.T) {
	return func(t *testing.T) {
		for kind, fresh := range stores {
			t.Run(kind, func(t *testing.T) { test(t, fresh(t)) })
		}
	}
}

// daysOfRows is a ledger of ten days, a row each two hours, and its first process.
func daysOfRows(t *testing.T, location string) (s books.Store, process int64, entry func(n int64) *books.Entry) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s = db.Ledger()
	if process, err = s.Begin(t.Context(), daysStart); err != nil {
		t.Fatal(err)
	}
	entry = func(n int64) *books.Entry {
		return &books.Entry{
			Number:  n,
			Request: books.Request{ID: fmt.Sprint("req_", n), KeyID: fmt.Sprint("key_", n%3), Owner: "o", Protocol: "messages", Model: "m", Start: daysStart.Add(time.Duration(n) * 2 * time.Hour)},
			Result:  books.Result{Outcome: books.OK, Upstream: "u", Model: "m", Usage: books.Usage{Input: 10, Output: 1}, Cost: 7, Price: "p", FirstEvent: 20 * time.Millisecond},
		}
	}
	var entries []*books.Entry
	for n := range int64(10 * 12) {
		entries = append(entries, entry(n))
	}
	if err := s.Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	rollUp(t, s)
	return s, process, entry
}

var (
	daysStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	daysEnd   = daysStart.AddDate(0, 0, 10)
)

func rollUp(t *testing.T, s books.Store) {
	t.Helper()
	for {
		done, err := s.Roll(t.Context(), daysEnd)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			return
		}
	}
}

func rollupsStayExact(t *testing.T, location string) {
	s, process, entry := daysOfRows(t, location)
	want := books.Row{Requests: 120, OK: 120, Usage: books.Usage{Input: 1200, Output: 120}, Cost: 7 * 120}
	step := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want.FirstEvents = books.FirstEvents{Known: want.Requests, Sum: 20_000 * want.OK}
		want.FirstEvents.Buckets[1] = want.OK // up to 32 ms
		for _, when := range []string{"at once", "rolled up again"} {
			for _, by := range [][]books.Dimension{{books.ByOwner}, {books.ByProtocol}} {
				rows, err := s.Report(t.Context(), books.Query{By: by})
				if err != nil || len(rows) != 1 {
					t.Fatalf("%s, %s: %+v, %v", what, when, rows, err)
				}
				got := rows[0]
				got.Values = nil
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, %s, by %v: %+v, want %+v", what, when, by, got, want)
				}
			}
			rollUp(t, s)
		}
	}
	write := func(entries ...*books.Entry) func() error {
		return func() error { return s.Write(t.Context(), process, entries) }
	}
	step("nothing", func() error { return nil })
	step("written again", write(entry(3), entry(40)))
	late, open := entry(1000), entry(1001)
	late.Start, open.Start = daysStart.Add(time.Hour), daysStart.Add(50*time.Hour)
	closed := *open
	open.Result = books.Result{Outcome: books.Open}
	want.Requests, want.OK, want.Input, want.Output, want.Cost = 121, 121, 1210, 121, 7*121
	step("late", write(late))
	want.Requests, want.Open = 122, 1
	step("open for long", write(open))
	want.Open, want.Interrupted = 0, 1
	step("interrupted", func() error { _, err := s.End(t.Context(), process); return err })
	want.Interrupted, want.OK, want.Input, want.Output, want.Cost = 0, 122, 1220, 122, 7*122
	step("known after all", write(&closed))
	step("pruned in part", func() error { _, err := s.Prune(t.Context(), daysStart.AddDate(0, 0, 4), 31); return err })
	step("pruned", func() error {
		_, err := books.PruneAll(t.Context(), s, daysStart.AddDate(0, 0, 4), nil)
		return err
	})
}

func checkProvesRollups(t *testing.T, location string) {
	s, _, _ := daysOfRows(t, location)
	checking := reconcile.Checking{Store: s, Now: daysEnd}
	if got, err := reconcile.Check(t.Context(), checking); err != nil || !got.Good() || got.Hours != 10*24 || got.Entries != 120 {
		t.Fatalf("%+v, %v", got, err)
	}
	driver := "sqlite"
	if store.IsPostgres(location) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, location)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []struct{ statement, says string }{
		{`UPDATE ledger_rollups SET cost = cost + 1 WHERE level = 0 AND period = 492510`, "the sums of 2026-03-09T06:00:00Z"},
		{`UPDATE ledger_rollups SET cost = cost - 1 WHERE level = 0 AND period = 492510`, ""},
		{`DELETE FROM ledger_rollups WHERE level = 2 AND period = 20520`, "the sums of the day 2026-03-08"},
	} {
		if _, err := db.ExecContext(t.Context(), change.statement); err != nil {
			t.Fatal(err)
		}
		got, err := reconcile.Check(t.Context(), checking)
		if err != nil || got.Good() != (change.says == "") || change.says != "" && !strings.HasPrefix(got.Sums[0], change.says) {
			t.Errorf("%s: %+v, %v", change.statement, got, err)
		}
	}
}

func checkGoesOn(t *testing.T, location string) {
	s, process, entry := daysOfRows(t, location)
	wrong := entry(2000)
	wrong.Price, wrong.Start = "", daysStart.AddDate(0, 0, 2)
	if err := s.Write(t.Context(), process, []*books.Entry{wrong}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var had *reconcile.Checked
	_, err := reconcile.Check(ctx, reconcile.Checking{Store: s, Now: daysEnd, After: func(c *reconcile.Checked) error {
		if copied := *c; c.Entries > 30 && had == nil {
			had = &copied
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || had.Entries != 37 {
		t.Fatalf("%v: %+v", err, had)
	}
	days := 0
	got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Now: daysEnd, From: had, After: func(*reconcile.Checked) error { days++; return nil }})
	if err != nil || got.Entries != 121 || len(got.Wrong) != 1 || days > 8 {
		t.Errorf("%+v, %v, %d days", got, err, days)
	}
}
