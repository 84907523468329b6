//go:build unix

package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/store"
)

const aDay = 24 * time.Hour

// extend makes the partitions of the days behind a moment.
func extend(t testing.TB, s *store.Store, now time.Time) int {
	t.Helper()
	made, err := s.Ledger().(ledger.Partitioner).Extend(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// partitionsOf are the partitions that have rows, with how many.
func partitionsOf(t testing.TB, location string) []string {
	t.Helper()
	rows := column(t, raw(t, location), `SELECT tableoid::regclass::text || ' ' || count(*) FROM ledger GROUP BY tableoid ORDER BY 1`)
	for i := range rows {
		rows[i] = strings.TrimSpace(rows[i])
	}
	return rows
}

// Cores each of whose requests waits for its row write while the partition of their day is made, which takes their rows
// from the default one, and afterwards: no request is refused, each is one row, and the sums add up.
func TestP27PartitionUnderLoad(t *testing.T) {
	location := migrated(t)
	const filled = 2000
	fill(t, location, time.Now().Add(-3*aDay), filled)
	db := raw(t, location)
	var callers sync.WaitGroup
	var requests atomic.Int64
	stop := make(chan struct{})
	var recorders []*ledger.Recorder
	for range 2 {
		r, err := ledger.Start(t.Context(), ledger.Config{Store: opened(t, location).Ledger(), Wait: true, MaxWait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		recorders = append(recorders, r)
		for range 4 {
			callers.Go(func() {
				for {
					record, err := r.Open(t.Context(), ledger.Request{ID: "req", KeyID: "key_p27", Model: "m", Start: time.Now()})
					if err != nil {
						t.Errorf("a request is refused: %v", err)
						return
					}
					requests.Add(1)
					record.Settle(ledger.Result{Outcome: ledger.OK, Attempts: 1, Price: "p", Cost: 1})
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
	}
	await(t, func() bool { return requests.Load() >= 100 || t.Failed() })
	extend(t, opened(t, location), time.Now())
	until := requests.Load() + 200
	await(t, func() bool { return requests.Load() >= until || t.Failed() })
	close(stop)
	callers.Wait()
	for _, r := range recorders {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	got := column(t, db, `SELECT count(*) || ' ' || count(DISTINCT (process, number)) || ' ' || count(*) FILTER (WHERE outcome = 'ok') FROM ledger`)
	if n := requests.Load() + filled; got[0] != fmt.Sprintf("%d %d %d\n", n, n, n) {
		t.Errorf("%d requests, rows: %s", n, got)
	}
	checkedGood(t, location)
	today := "ledger_" + time.Now().UTC().Format("20060102")
	if got := partitionsOf(t, location); !slices.ContainsFunc(got, func(rows string) bool { return strings.HasPrefix(rows, today) }) {
		t.Errorf("rows: %q", got)
	}
}

// fill writes so many closed rows, of three days.
func fill(t testing.TB, location string, from time.Time, rows int64) {
	t.Helper()
	s := opened(t, location)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for n := range rows {
		entries = append(entries, &ledger.Entry{
			Number:  n + 1,
			Request: ledger.Request{ID: "req_" + strconv.FormatInt(n, 10), KeyID: "key_fill", Model: "m", Start: from.Add(time.Duration(n) * 3 * aDay / time.Duration(rows))},
			Result:  ledger.Result{Outcome: ledger.OK, Attempts: 1, Price: "p", Cost: n},
		})
	}
	if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger().Write(t.Context(), process, entries[:min(rows, 10)]); err != nil { // again
		t.Fatal(err)
	}
}

// checkedGood has genway ledger check find nothing wrong.
func checkedGood(t testing.TB, location string) *reconcile.Checked {
	t.Helper()
	checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: opened(t, location).Ledger(), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if !checked.Good() {
		t.Errorf("%d left, %q, %q", checked.Left, checked.Wrong, checked.Sums)
	}
	return checked
}
