package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/core/ledger"
)

// ledgerColumns are an entry's columns, in the order of values and scan.
var ledgerColumns = []string{
	"number", "request_id", "key_id", "owner", "protocol", "method", "model", "start_time",
	"outcome", "kind", "reason", "route", "upstream", "attempts", "served_model",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
	"input_image_tokens", "input_audio_tokens", "thinking_tokens", "output_image_tokens", "output_audio_tokens", "images",
	"cost", "price", "duration", "first_event",
}

// openingColumns is how many of them are known as a request begins; they never change.
const openingColumns = 8

// Entries are added, or closed.
var (
	insertEntry = `INSERT INTO ledger (process, ` + strings.Join(ledgerColumns, ", ") + `) `
	closeEntry  = func() string {
		var set []string
		for _, c := range ledgerColumns[openingColumns:] {
			set = append(set, c+" = excluded."+c)
		}
		return ` ON CONFLICT (process, number) DO UPDATE SET ` + strings.Join(set, ", ") + `
			WHERE ledger.outcome IN ('open', 'interrupted') AND excluded.outcome <> 'open'`
	}()
	upsertEntry = insertEntry + `VALUES (?` + strings.Repeat(", ?", len(ledgerColumns)) + `)` + closeEntry //nolint:gosec // constants
)

// entryValues are an entry's values: int64s and strings.
func entryValues(e *ledger.Entry) []any {
	return []any{
		e.Number, text(e.ID), text(e.KeyID), text(e.Owner), text(e.Protocol), text(e.Method), text(e.Request.Model), e.Start.UnixMicro(),
		string(e.Outcome), text(e.Kind), text(e.Reason), text(e.Route), text(e.Upstream), e.Attempts, text(e.Result.Model),
		e.Usage.Input, e.Usage.Output, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.CacheWrite1h,
		e.Usage.InputImage, e.Usage.InputAudio, e.Usage.Thinking, e.Usage.OutputImage, e.Usage.OutputAudio, e.Usage.Images,
		e.Cost, text(e.Price), e.Duration.Microseconds(), e.FirstEvent.Microseconds(),
	}
}

// text is s as every database keeps it: PostgreSQL refuses a zero byte and what is not
// UTF-8, and one such text would keep its whole batch from being written.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Write adds and closes entries in one transaction.
func (s ledgerStore) Write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	if s.writer.arrays {
		return s.writeArrays(ctx, process, entries)
	}
	return s.writer.again(ctx, func() error { return s.writeEach(ctx, process, entries) })
}

// writeEach runs a statement for each entry: to a database in the process, the
// cheapest.
func (s ledgerStore) writeEach(ctx context.Context, process int64, entries []*ledger.Entry) error {
	tx, err := s.writer.pool.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	upsert, err := tx.PrepareContext(ctx, upsertEntry)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer upsert.Close() //nolint:errcheck // the transaction ends it
	for _, e := range entries {
		if _, err := upsert.ExecContext(ctx, append([]any{process}, entryValues(e)...)...); err != nil {
			return fmt.Errorf("write entry %d: %w", e.Number, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// writeArrays runs one statement for all, with an array for each column: one round
// trip to a server.
func (s ledgerStore) writeArrays(ctx context.Context, process int64, entries []*ledger.Entry) error {
	columns := transpose(merge(entries))
	if columns == nil {
		return nil
	}
	args := append([]any{process}, columns...)
	if _, err := s.writer.exec(ctx, upsertEntries, args...); err != nil {
		return fmt.Errorf("write %d entries: %w", len(entries), err)
	}
	return nil
}

var upsertEntries = func() string {
	var arrays []string
	for _, v := range entryValues(&ledger.Entry{}) {
		kind := "bigint"
		if _, ok := v.(string); ok {
			kind = "text"
		}
		arrays = append(arrays, "?::"+kind+"[]")
	}
	return insertEntry + `SELECT ?::bigint, entry.* FROM unnest(` + strings.Join(arrays, ", ") + `) AS entry` + closeEntry
}()

// transpose gives the entries' values by column: []int64 or []string each. None for
// no entries.
func transpose(entries []*ledger.Entry) []any {
	if len(entries) == 0 {
		return nil
	}
	rows := make([][]any, len(entries))
	for n, e := range entries {
		rows[n] = entryValues(e)
	}
	columns := make([]any, len(rows[0]))
	for c := range columns {
		if _, ok := rows[0][c].(string); ok {
			columns[c] = column[string](rows, c)
		} else {
			columns[c] = column[int64](rows, c)
		}
	}
	return columns
}

func column[T any](rows [][]any, c int) []T {
	values := make([]T, len(rows))
	for n, row := range rows {
		values[n], _ = row[c].(T) // as entryValues says
	}
	return values
}

// merge makes one of entries with the same number, which one statement cannot write
// twice, as if they were written one after the other. The result is in the order of
// numbers, so that two writers of the same rows do not wait for each other.
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
