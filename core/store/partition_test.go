//go:build unix

package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

const aDay = 24 * time.Hour

// partition has the ledger of a database, which is made, be partitioned as of a moment, and gives the
// steps that it took.
func partition(t testing.TB, location string, now time.Time) (steps []string) {
	t.Helper()
	if err := open(t, location).Close(); err != nil {
		t.Fatal(err)
	}
	err := store.PartitionLedger(t.Context(), store.Config{Location: location}, now, func(step string) { steps = append(steps, step) }, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

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

// byDay has the ledger of the suite's database be partitioned: the first days of its entries have partitions of
// their own, others are in the first and in the default partition.
func byDay(t *testing.T, location string) {
	t.Helper()
	first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	partition(t, location, first.AddDate(0, 0, -8))
	if made := extend(t, opened(t, location), first.AddDate(0, 0, 1)); made != 4 {
		t.Errorf("%d partitions were made, want 4", made)
	}
}

// Partitioning twice does nothing but make partitions that are missing.
func TestPartitionTwice(t *testing.T) {
	location, now := servers.PostgresDatabase(t), time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)
	if steps := partition(t, location, now); len(steps) != 5 {
		t.Errorf("%q", steps)
	}
	if steps := partition(t, location, now); len(steps) != 1 {
		t.Errorf("the second time: %q", steps)
	}
	found, err := store.InspectPartitioning(t.Context(), store.Config{Location: location}, now)
	if want := []string{"ledger_before_20261201", "ledger_default"}; err != nil || !slices.Equal(found.Partitions, want) {
		t.Errorf("%q, %v", found.Partitions, err)
	}
	partition(t, location, now.AddDate(0, 0, 6))
	found, err = store.InspectPartitioning(t.Context(), store.Config{Location: location}, now)
	if want := []string{"ledger_before_20261201", "ledger_20261201", "ledger_20261202", "ledger_default"}; err != nil || !slices.Equal(found.Partitions, want) {
		t.Errorf("%q, %v", found.Partitions, err)
	}
}
