package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/core/ledger"
)

// Write adds and closes entries in one transaction. Its error is ledger.ErrRefused where
// the database says that it is of the values.
func (s ledgerStore) Write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if !e.Outcome.Known() {
			return fmt.Errorf("%w: write entry %d: %q is no outcome", ledger.ErrRefused, e.Number, e.Outcome)
		}
	}
	var err error
	if s.writer.arrays {
		err = s.writeArrays(ctx, process, merge(entries))
	} else {
		err = s.writer.seen.note(s.writer.again(ctx, func() error { return s.rows.write(ctx, process, entries) }))
	}
	if err != nil && s.writer.refused(err) {
		return fmt.Errorf("%w: %w", ledger.ErrRefused, err)
	}
	return err
}

// writeArrays runs one statement for all, with an array for each column: one round
// trip to a server. The rows that it has written give what was spent.
func (s ledgerStore) writeArrays(ctx context.Context, process int64, entries []*ledger.Entry) error {
	args := []any{process}
	for _, c := range ledgerColumns {
		if c.text != nil {
			args = append(args, array(entries, func(e *ledger.Entry) string { return text(c.text(e)) }))
		} else {
			args = append(args, array(entries, c.integer))
		}
	}
	_, err := s.writer.exec(ctx, upsertArrays, args...)
	if err != nil {
		return fmt.Errorf("write %d entries: %w", len(entries), err)
	}
	return nil
}

// upsertArrays adds and closes entries of PostgreSQL.
var upsertArrays = func() string {
	var arrays []string
	for _, c := range ledgerColumns {
		kind := "bigint"
		if c.text != nil {
			kind = "text"
		}
		arrays = append(arrays, "?::"+kind+"[]")
	}
	return `WITH written AS (
			INSERT INTO ledger (process, ` + columnNames + `) SELECT ?::bigint, entry.* FROM unnest(` + strings.Join(arrays, ", ") + `) AS entry` + closeEntry(identityByDay) + `
			RETURNING process, start_time, key_id, owner, cost, outcome
		) INSERT INTO ledger_spent (day, process, key_id, owner, cost)
		SELECT start_time / 86400000000, process, key_id, owner, ` + postgresDialect.sum("cost") + ` FROM written
		WHERE outcome NOT IN ('open', 'interrupted') AND cost > 0 GROUP BY start_time / 86400000000, process, key_id, owner` + moreSpent
}()

func array[T any](entries []*ledger.Entry, value func(*ledger.Entry) T) []T {
	values := make([]T, len(entries))
	for n, e := range entries {
		values[n] = value(e)
	}
	return values
}

// merge makes one of entries with the same number, which one statement of PostgreSQL
// cannot write twice, as if they were written one after the other. The result is in the
// order of numbers, so that two writers of the same rows do not wait for each other.
func merge(entries []*ledger.Entry) []*ledger.Entry {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b *ledger.Entry) int { return cmp.Compare(a.Number, b.Number) })
	merged := sorted[:0]
	for _, e := range sorted {
		last := len(merged) - 1
		switch {
		case last < 0 || merged[last].Number != e.Number:
			merged = append(merged, e)
		case e.Outcome != ledger.Open && (merged[last].Outcome == ledger.Open || merged[last].Outcome == ledger.Interrupted):
			merged[last] = &ledger.Entry{Number: e.Number, Request: merged[last].Request, Result: e.Result}
		}
	}
	return merged
}
