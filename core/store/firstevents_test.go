//go:build unix

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
)

// firstEventColumns are those that migrations/00015_first_events.sql adds to each of two tables.
var firstEventColumns = func() []string {
	columns := []string{"first_event_known", "first_event"}
	for i := range ledger.FirstEventBuckets {
		columns = append(columns, fmt.Sprint("first_event_", i))
	}
	return columns
}()

// withoutQuantities undoes migrations/00018_quantities.sql.
func withoutQuantities() (undo []string) {
	for _, table := range []string{"ledger", "ledger_rollups", "ledger_days"} {
		for _, column := range []string{"cache_write_30m_tokens", "cache_write_12h_tokens", "tool_calls"} {
			undo = append(undo, "ALTER TABLE "+table+" DROP COLUMN "+column)
		}
	}
	return append(undo, "ALTER TABLE ledger DROP COLUMN unpriced", "ALTER TABLE ledger DROP COLUMN charges")
}

// Sums of before the times to first events say that these are not known, beside those that are, by
// whatever a report is. A check of the ledger takes them as they are.
func TestFirstEventsOfOldSums(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := open(t, location)
		start := threeDays(t, s.Ledger())
		end := start.AddDate(0, 0, 3)
		if _, err := s.Ledger().Prune(t.Context(), start.AddDate(0, 0, 1), 1000); err != nil {
			t.Fatal(err)
		}
		rollAll(t, s.Ledger(), end)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		undo := append(withoutQuantities(), "ALTER TABLE ledger_processes DROP COLUMN partitions") // of later steps
		for _, column := range firstEventColumns {
			undo = append(undo, "ALTER TABLE ledger_rollups DROP COLUMN "+column, "ALTER TABLE ledger_days DROP COLUMN "+column)
		}
		run(t, raw(t, location), append(undo, `DROP INDEX ledger_faults`, `DELETE FROM goose_db_version WHERE version_id > 14`)...)

		l := opened(t, location).Ledger()
		process, err := l.Begin(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		late := func(n int64, at time.Time) *ledger.Entry {
			return &ledger.Entry{Number: n, Request: ledger.Request{ID: "late", Model: "m", Start: at}, Result: ledger.Result{Outcome: ledger.OK, FirstEvent: 3 * time.Second}}
		}
		if err := l.Write(t.Context(), process, []*ledger.Entry{late(1, end), late(2, end.Add(-time.Hour))}); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"before", "rolled up again"} {
			row := reported(t, l, ledger.Query{})[0]
			// The hour of the second entry is of rows again, whose first events are known: they have none.
			if f := row.FirstEvents; row.Requests != 3*24*6+2 || f.Known != 6+2 || f.Count() != 2 || f.Sum != 6e6 || f.Mean() != 3*time.Second {
				t.Errorf("%s: %d requests, %+v", when, row.Requests, f)
			}
			days := reported(t, l, ledger.Query{By: []ledger.Dimension{ledger.ByDay}})
			for i, known := range []int64{0, 0, 7, 1} {
				if len(days) != 4 || days[i].FirstEvents.Known != known {
					t.Errorf("%s: day %d: %+v", when, i, days)
				}
			}
			checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: l, Now: end.Add(2 * time.Hour)})
			if err != nil || len(checked.Sums) != 0 {
				t.Errorf("%s: %v, %v", when, checked, err)
			}
			rollAll(t, l, end.Add(2*time.Hour))
		}
	})
}
