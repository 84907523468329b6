package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// sqliteLedger is ledger.Store over migrations/00002_ledger.sql.
type sqliteLedger struct {
	db     *sql.DB // for reading
	writer *sql.DB // one connection, with the ledger's own durability
}

var _ ledger.Store = sqliteLedger{}

// Ledger keeps the entries of requests.
func (s *SQLite) Ledger() ledger.Store {
	return sqliteLedger{db: s.db, writer: s.writer}
}

// Begin makes the number of a process.
func (s sqliteLedger) Begin(ctx context.Context, now time.Time) (process int64, err error) {
	result, err := s.writer.ExecContext(ctx, `INSERT INTO ledger_processes (start_time, seen_time) VALUES (?, ?)`, now.UnixMicro(), now.UnixMicro())
	if err == nil {
		process, err = result.LastInsertId()
	}
	if err != nil {
		return 0, fmt.Errorf("insert process: %w", err)
	}
	return process, nil
}

// ledgerColumns are an entry's columns, in the order of values and scan.
var ledgerColumns = []string{
	"number", "request_id", "key_id", "protocol", "method", "model", "start_time",
	"outcome", "kind", "reason", "route", "upstream", "attempts", "served_model",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens",
	"input_image_tokens", "input_audio_tokens", "thinking_tokens", "output_image_tokens", "output_audio_tokens", "images",
	"duration", "first_event",
}

// upsertEntry adds an entry or closes it, whose start never changes.
var upsertEntry = func() string {
	var set []string
	for _, c := range ledgerColumns[7:] {
		set = append(set, c+" = excluded."+c)
	}
	return `INSERT INTO ledger (process, ` + strings.Join(ledgerColumns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(ledgerColumns)) + `)
		ON CONFLICT (process, number) DO UPDATE SET ` + strings.Join(set, ", ") + `
		WHERE ledger.outcome IN ('open', 'interrupted') AND excluded.outcome <> 'open'`
}()

func entryValues(process int64, e *ledger.Entry) []any {
	return []any{
		process, e.Number, e.ID, e.KeyID, e.Protocol, e.Method, e.Request.Model, e.Start.UnixMicro(),
		string(e.Outcome), e.Kind, e.Reason, e.Route, e.Upstream, e.Attempts, e.Result.Model,
		e.Usage.Input, e.Usage.Output, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.CacheWrite1h,
		e.Usage.InputImage, e.Usage.InputAudio, e.Usage.Thinking, e.Usage.OutputImage, e.Usage.OutputAudio, e.Usage.Images,
		e.Duration.Microseconds(), e.FirstEvent.Microseconds(),
	}
}

// Write adds and closes entries in one transaction.
func (s sqliteLedger) Write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	tx, err := s.writer.BeginTx(ctx, nil)
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
		if _, err := upsert.ExecContext(ctx, entryValues(process, e)...); err != nil {
			return fmt.Errorf("write entry %d: %w", e.Number, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Beat says that a process lives and interrupts the entries of those that do not.
func (s sqliteLedger) Beat(ctx context.Context, process int64, now, dead time.Time) (int64, error) {
	if _, err := s.writer.ExecContext(ctx, `UPDATE ledger_processes SET seen_time = ? WHERE id = ?`, now.UnixMicro(), process); err != nil {
		return 0, fmt.Errorf("update process: %w", err)
	}
	return s.interrupt(ctx, `IN (SELECT id FROM ledger_processes WHERE id <> ? AND seen_time < ?)`, process, dead.UnixMicro())
}

// End interrupts the entries of one process.
func (s sqliteLedger) End(ctx context.Context, process int64) (int64, error) {
	return s.interrupt(ctx, `= ?`, process)
}

func (s sqliteLedger) interrupt(ctx context.Context, processes string, args ...any) (interrupted int64, err error) {
	result, err := s.writer.ExecContext(ctx, `UPDATE ledger SET outcome = 'interrupted' WHERE outcome = 'open' AND process `+processes, args...) //nolint:gosec // constants of the callers above //nolint:gosec // of two conditions written here
	if err == nil {
		interrupted, err = result.RowsAffected()
	}
	if err != nil {
		return 0, fmt.Errorf("interrupt entries: %w", err)
	}
	return interrupted, nil
}

// Entries walks over the entries.
func (s sqliteLedger) Entries(ctx context.Context, since time.Time) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		rows, err := s.db.QueryContext(ctx, `SELECT `+strings.Join(ledgerColumns, ", ")+` FROM ledger WHERE start_time >= ? ORDER BY process, number`, sinceMicros(since)) //nolint:gosec // constants //nolint:gosec // columns named here
		if err != nil {
			yield(nil, fmt.Errorf("select entries: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			e, err := scanEntry(rows)
			if err != nil {
				yield(nil, fmt.Errorf("scan entry: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, fmt.Errorf("select entries: %w", err))
		}
	}
}

func scanEntry(rows *sql.Rows) (*ledger.Entry, error) {
	e := &ledger.Entry{}
	var start, duration, firstEvent int64
	err := rows.Scan(&e.Number, &e.ID, &e.KeyID, &e.Protocol, &e.Method, &e.Request.Model, &start,
		&e.Outcome, &e.Kind, &e.Reason, &e.Route, &e.Upstream, &e.Attempts, &e.Result.Model,
		&e.Usage.Input, &e.Usage.Output, &e.Usage.CacheRead, &e.Usage.CacheWrite, &e.Usage.CacheWrite1h,
		&e.Usage.InputImage, &e.Usage.InputAudio, &e.Usage.Thinking, &e.Usage.OutputImage, &e.Usage.OutputAudio, &e.Usage.Images,
		&duration, &firstEvent)
	e.Start = time.UnixMicro(start).UTC()
	e.Duration, e.FirstEvent = time.Duration(duration)*time.Microsecond, time.Duration(firstEvent)*time.Microsecond
	return e, err
}

// sinceMicros is a time a row may be compared with; the zero time is before all.
func sinceMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
