package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// failuresOf is the statement that counts the entries of ledger_faults in a time, the newest at most and one
// more, by upstream, kind and outcome. The index has all that it reads.
func failuresOf(since, until time.Time, most int) (statement string, args []any) {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !since.IsZero() {
		from = sinceMicros(since)
	}
	if !until.IsZero() {
		to = until.UnixMicro()
	}
	return `SELECT upstream, kind, outcome, count(*), min(start_time) FROM (SELECT upstream, kind, outcome, start_time FROM ledger WHERE start_time >= ? AND start_time < ? AND ` + ofFaults +
		` ORDER BY start_time DESC, process DESC, number DESC LIMIT ?) AS latest GROUP BY upstream, kind, outcome`, []any{from, to, most + 1}
}

// Failures counts what failed by one statement.
func (s ledgerStore) Failures(ctx context.Context, since, until time.Time) (ledger.Failures, error) {
	return s.failures(ctx, since, until, scanned)
}

// failures counts most entries and one more, by which it knows that these are not all.
func (s ledgerStore) failures(ctx context.Context, since, until time.Time, most int) (ledger.Failures, error) {
	statement, args := failuresOf(since, until, most)
	rows, err := s.db.query(ctx, statement, args...)
	if err != nil {
		return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
	}
	defer rows.Close()
	var failures ledger.Failures
	read, earliest := int64(0), int64(math.MaxInt64)
	for rows.Next() {
		var c ledger.FailureCount
		var outcome string
		var began int64
		if err := rows.Scan(&c.Upstream, &c.Kind, &outcome, &c.Requests, &began); err != nil {
			return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
		}
		read, earliest = read+c.Requests, min(earliest, began)
		if outcome == string(ledger.Failed) {
			failures.Counts = append(failures.Counts, c)
		}
	}
	if err := rows.Err(); err != nil {
		return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
	}
	if read > int64(most) {
		failures.From = time.UnixMicro(earliest).UTC()
	}
	slices.SortFunc(failures.Counts, func(a, b ledger.FailureCount) int {
		return cmp.Or(strings.Compare(a.Upstream, b.Upstream), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Kind, b.Kind))
	})
	return failures, nil
}
