//go:build unix

package store_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// Hours without rows, of which a quiet ledger has many, take a step in all.
func TestEmptyHoursAreOneStep(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location).Ledger()
		process, err := s.Begin(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC)
		for n, days := range []int{0, 10, 20} {
			e := &ledger.Entry{Number: int64(n), Request: ledger.Request{ID: "r", Start: start.AddDate(0, 0, days)}, Result: ledger.Result{Outcome: ledger.OK}}
			if err := s.Write(t.Context(), process, []*ledger.Entry{e}); err != nil {
				t.Fatal(err)
			}
		}
		steps := 0
		for ; ; steps++ {
			if done, err := s.Roll(t.Context(), start.AddDate(0, 0, 30)); err != nil || !done {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		// Of 504 hours: three with rows, what is between, what makes these known, and 21 days.
		if got := reported(t, s, ledger.Query{}); got[0].Requests != 3 || steps > 40 {
			t.Errorf("%d steps, %+v", steps, got)
		}
	})
}

// threeDays are the entries of three days, one each ten minutes.
func threeDays(t testing.TB, s ledger.Store) (start time.Time) {
	t.Helper()
	start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	process, err := s.Begin(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for n := range int64(3 * 24 * 6) {
		entries = append(entries, &ledger.Entry{
			Number:  n,
			Request: ledger.Request{ID: fmt.Sprint("req_", n), KeyID: fmt.Sprint("key_", n%5), Owner: "o", Protocol: "messages", Model: "m", Start: start.Add(time.Duration(n) * 10 * time.Minute)},
			Result:  ledger.Result{Outcome: ledger.OK, Upstream: "u", Model: "m", Usage: ledger.Usage{Input: n, Output: 1}, Cost: n, Price: "p"},
		})
	}
	if err := s.Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	return start
}

func rollAll(t testing.TB, s ledger.Store, before time.Time) {
	t.Helper()
	for {
		done, err := s.Roll(t.Context(), before)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			return
		}
	}
}

var byKeyAndDay = ledger.Query{By: []ledger.Dimension{ledger.ByKey, ledger.ByDay}}

func reported(t testing.TB, s ledger.Store, query ledger.Query) []ledger.Row {
	t.Helper()
	rows, err := s.Report(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// quietly changes rows and has no trigger count it.
func quietly(t testing.TB, db *sql.DB, location, statement string) {
	t.Helper()
	if store.IsPostgres(location) {
		run(t, db, `ALTER TABLE ledger DISABLE TRIGGER USER; `+statement+`; ALTER TABLE ledger ENABLE TRIGGER USER`)
		return
	}
	var trigger string
	if err := db.QueryRowContext(t.Context(), `SELECT sql FROM sqlite_master WHERE name = 'ledger_hours_updated'`).Scan(&trigger); err != nil {
		t.Fatal(err)
	}
	run(t, db, `DROP TRIGGER ledger_hours_updated`, statement, trigger)
}

// Reports of what has roll-ups are made of these, at every level: a row that changes without
// anybody's knowledge is in none.
func TestReportsAreOfRollups(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location).Ledger()
		start := threeDays(t, s)
		rollAll(t, s, start.AddDate(0, 0, 3).Add(-time.Hour))
		queries := []ledger.Query{
			byKeyAndDay, {By: []ledger.Dimension{ledger.ByModel}}, {}, // days
			{Since: start.Add(time.Hour), Until: start.Add(20 * time.Hour)}, // hours
			{Until: start.Add(10 * 24 * time.Hour)},
		}
		var want [][]ledger.Row
		for _, q := range queries {
			want = append(want, reported(t, s, q))
		}
		db := raw(t, location)
		quietly(t, db, location, `UPDATE ledger SET input_tokens = input_tokens + 1000 WHERE number < 408`)
		for i, q := range queries {
			if diff := cmp.Diff(want[i], reported(t, s, q)); diff != "" {
				t.Errorf("%+v (-rolled up +changed):\n%s", q, diff)
			}
		}
		// The hour under way has none, nor what is less than an hour.
		last := ledger.Query{Since: start.Add(71 * time.Hour)}
		before := reported(t, s, last)[0].Input
		quietly(t, db, location, `UPDATE ledger SET input_tokens = input_tokens + 1000 WHERE number = 430`)
		if after := reported(t, s, last)[0].Input; after != before+1000 {
			t.Errorf("%d, after %d", after, before)
		}
		for minutes, want := range map[int]int64{61: 1, 71: 2} {
			if got := reported(t, s, ledger.Query{Since: start.Add(time.Hour), Until: start.Add(time.Duration(minutes) * time.Minute)})[0]; got.Requests != want {
				t.Errorf("%d minutes: %+v", minutes, got)
			}
		}
	})
}

// What a writer of the version before does, or somebody by hand, is in reports at once.
func TestRollupsSeeEveryWriter(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location).Ledger()
		start := threeDays(t, s)
		rollAll(t, s, start.AddDate(0, 0, 3))
		db := raw(t, location)
		total := func() ledger.Row { return reported(t, s, ledger.Query{By: []ledger.Dimension{ledger.ByOwner}})[0] }
		want := total()
		for _, change := range []struct {
			statement       string
			requests, input int64
		}{
			{`UPDATE ledger SET input_tokens = input_tokens + 7 WHERE number = 100`, 0, 7},
			{`UPDATE ledger SET start_time = start_time + 86400000000 WHERE number = 100`, 0, 0},
			{`DELETE FROM ledger WHERE number = 101`, -1, -101},
			{`DELETE FROM ledger WHERE start_time < ` + strconv.FormatInt(start.Add(2*time.Hour).UnixMicro(), 10), -12, -66},
		} {
			run(t, db, change.statement)
			want.Requests, want.Input = want.Requests+change.requests, want.Input+change.input
			for _, when := range []string{"at once", "rolled up again"} {
				if got := total(); got.Requests != want.Requests || got.Input != want.Input {
					t.Errorf("%s, %s: %+v, want %+v", change.statement, when, got, want)
				}
				rollAll(t, s, start.AddDate(0, 0, 3))
			}
		}
	})
}
