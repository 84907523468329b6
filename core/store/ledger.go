package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// ledgerStore is ledger.Store over the ledger's tables in migrations.
type ledgerStore struct {
	db     database   // for reading
	writer database   // one connection, with the ledger's own durability
	rows   *rowWriter // of the writer, for SQLite
	file   string     // the path, for SQLite
}

var (
	_ ledger.Store       = ledgerStore{}
	_ ledger.Recoverer   = ledgerStore{}
	_ ledger.Partitioner = ledgerStore{}
)

// Requests finds the entries of requests.
func (s *Store) Requests() ledger.Searcher { return s.ledger() }

// Ledger keeps the entries of requests.
func (s *Store) Ledger() ledger.Store { return s.ledger() }

func (s *Store) ledger() ledgerStore {
	return ledgerStore{db: s.db, writer: s.writer, rows: s.rows, file: s.file}
}

// Begin makes the number of a process.
func (s ledgerStore) Begin(ctx context.Context, now time.Time) (process int64, err error) {
	err = s.writer.row(ctx, `INSERT INTO ledger_processes (start_time, seen_time) VALUES (?, ?) RETURNING id`, now.UnixMicro(), now.UnixMicro()).Scan(&process)
	if err != nil {
		return 0, fmt.Errorf("insert process: %w", explain(s.file, err))
	}
	return process, nil
}

// Recover writes entries of another process, if it is one of this database.
func (s ledgerStore) Recover(ctx context.Context, process int64, began time.Time, entries []*ledger.Entry) error {
	var start int64
	err := s.db.row(ctx, `SELECT start_time FROM ledger_processes WHERE id = ?`, process).Scan(&start)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && start != began.UnixMicro():
		return ledger.ErrForeign
	case err != nil:
		return fmt.Errorf("select process: %w", err)
	}
	return s.Write(ctx, process, entries)
}

const (
	// ofProcess, ofOtherDead and countLeft are of open entries, of which there are few: it is
	// their index that is to be used, not all entries of the processes.
	ofProcess   = `+ 0 = ?`
	ofOtherDead = `<> ? AND EXISTS (SELECT 1 FROM ledger_processes AS p WHERE p.id = ledger.process AND p.seen_time < ?)`
	// aheadOfTime are processes with open entries whose last sign of life is later than now: the
	// clock was put back since. It counts as given now, so that those that are dead are
	// known to be a moment later, and not only when that time has come.
	aheadOfTime = `UPDATE ledger_processes SET seen_time = ? WHERE seen_time > ? AND id IN (SELECT process FROM ledger WHERE outcome = 'open')`
	countLeft   = `SELECT count(*) FROM ledger WHERE outcome = 'open' AND EXISTS (SELECT 1 FROM ledger_processes AS p WHERE p.id = ledger.process AND p.seen_time < ?)`
)

// Beat says that a process lives and what it is, and interrupts the entries of those that do not.
func (s ledgerStore) Beat(ctx context.Context, process int64, node ledger.Node, now, dead time.Time) (int64, error) {
	if _, err := s.writer.exec(ctx, signOfLife, now.UnixMicro(), text(node.Host), text(node.Version), text(node.Address), text(node.Configuration), text(strings.Join(node.Degraded, ",")), process); err != nil {
		return 0, fmt.Errorf("update process: %w", err)
	}
	// Clocks of machines that share a database differ a little.
	if _, err := s.writer.exec(ctx, aheadOfTime, now.UnixMicro(), now.Add(now.Sub(dead)).UnixMicro()); err != nil {
		return 0, fmt.Errorf("update processes: %w", err)
	}
	return s.interrupt(ctx, ofOtherDead, process, dead.UnixMicro())
}

// End interrupts the entries of one process.
func (s ledgerStore) End(ctx context.Context, process int64) (int64, error) {
	return s.interrupt(ctx, ofProcess, process)
}

func (s ledgerStore) interrupt(ctx context.Context, processes string, args ...any) (int64, error) {
	interrupted, err := s.writer.exec(ctx, `UPDATE ledger SET outcome = 'interrupted' WHERE outcome = 'open' AND process `+processes, args...)
	if err != nil {
		return 0, fmt.Errorf("interrupt entries: %w", err)
	}
	return interrupted, nil
}

// Entries walks over the entries.
func (s ledgerStore) Entries(ctx context.Context, since time.Time) iter.Seq2[*ledger.Entry, error] {
	where, args := between(since, time.Time{}).during()
	return entries(ctx, s.db.query, where+" ORDER BY process, number", args)
}

// entries walks over those that the rest of a statement says.
func entries(ctx context.Context, query func(context.Context, string, ...any) (*result, error), rest string, args []any) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		rows, err := query(ctx, `SELECT `+columnNames+` FROM ledger`+rest, args...)
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

// scanEntry reads an entry, and what the statement has behind it.
func scanEntry(rows *result, more ...any) (*ledger.Entry, error) {
	e := &ledger.Entry{}
	var start, duration, firstEvent, unpriced int64
	into := []any{
		&e.Number, &e.ID, &e.KeyID, &e.Owner, &e.Protocol, &e.Method, &e.Request.Model, &start, &e.TraceID,
		&e.Outcome, &e.Kind, &e.Reason, &e.Route, &e.Upstream, &e.Attempts, &e.Result.Model,
		&e.Cost, &e.Price, &e.UsageSource, &duration, &firstEvent, &e.UpstreamProtocol, &e.Losses, &e.Timeline, &unpriced, &e.Charges,
	}
	for _, k := range ledger.Kinds {
		into = append(into, e.Usage.At(k))
	}
	err := rows.Scan(append(into, more...)...)
	e.Start, e.Unpriced = time.UnixMicro(start).UTC(), unpriced != 0
	e.Duration, e.FirstEvent = time.Duration(duration)*time.Microsecond, time.Duration(firstEvent)*time.Microsecond
	return e, err
}

// Left counts the entries that dead processes left open.
func (s ledgerStore) Left(ctx context.Context, dead time.Time) (entries int64, err error) {
	err = s.db.row(ctx, countLeft, dead.UnixMicro()).Scan(&entries)
	if err != nil {
		return 0, fmt.Errorf("count open entries: %w", err)
	}
	return entries, nil
}

// sinceMicros is a time a row may be compared with; the zero time is before all.
func sinceMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
