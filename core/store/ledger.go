package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	// ofProcess, ofOtherDead and countLeft read open entries, of which there are few: it is
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

// scanEntry reads an entry, and the columns that the statement has after it.
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

const (
	signOfLife = `UPDATE ledger_processes SET seen_time = ?, host = ?, version = ?, address = ?, configuration = ?, degraded = ? WHERE id = ?`
	processes  = `SELECT id, start_time, seen_time, host, version, address, configuration, degraded FROM ledger_processes WHERE seen_time >= ? ORDER BY id DESC LIMIT 1000`
)

// Processes lists those that have been alive since.
func (s ledgerStore) Processes(ctx context.Context, since time.Time) ([]ledger.Process, error) {
	rows, err := s.db.query(ctx, processes, sinceMicros(since))
	if err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	defer rows.Close()
	var list []ledger.Process
	for rows.Next() {
		var p ledger.Process
		var start, seen int64
		var degraded string
		if err := rows.Scan(&p.Number, &start, &seen, &p.Host, &p.Version, &p.Address, &p.Configuration, &degraded); err != nil {
			return nil, fmt.Errorf("scan process: %w", err)
		}
		p.Start, p.Seen = time.UnixMicro(start).UTC(), time.UnixMicro(seen).UTC()
		if degraded != "" {
			p.Degraded = strings.Split(degraded, ",")
		}
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	slices.Reverse(list)
	return list, nil
}

const (
	// tailRows bounds the entries of one process that one Tail reads; what is beyond is passed
	// over.
	tailRows = 2000
	// tailOpen bounds the entries whose end is waited for.
	tailOpen = 20_000
	// tailFew and tailChunk are how many entries a statement looks up by their numbers.
	tailFew   = 10
	tailChunk = 200
	// tailAlive is how old the last heartbeat of a process that is followed may be.
	tailAlive = time.Minute
)

// Tail follows the processes by the numbers of their entries, which are given in the order in
// which they are written, and looks those up again that were open.
func (s ledgerStore) Tail(ctx context.Context, c *ledger.Cursor) (ended []ledger.Located, dropped int64, err error) {
	first := c.Last == nil
	if first {
		c.Last, c.Open = map[int64]int64{}, map[ledger.Key]struct{}{}
	}
	last, err := s.lastNumbers(ctx)
	if err != nil {
		return nil, 0, err
	}
	if ended, err = s.ended(ctx, c); err != nil {
		return nil, 0, err
	}
	wait := func(key ledger.Key) {
		if len(c.Open) >= tailOpen {
			dropped++
			return
		}
		c.Open[key] = struct{}{}
	}
	if first {
		open, err := s.openKeys(ctx)
		if err != nil {
			return nil, 0, err
		}
		for key := range open {
			wait(key)
		}
	}
	for process, number := range last {
		before, known := c.Last[process]
		c.Last[process] = number
		if first || known && number <= before {
			continue
		}
		from := max(before, number-tailRows)
		dropped += from - before
		rows, err := s.located(ctx, s.db.queryPrepared, " WHERE process = ? AND number > ? AND number <= ?", process, from, number)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range rows {
			if e.Outcome == ledger.Open {
				wait(ledger.Key{Process: process, Number: e.Number})
				continue
			}
			ended = append(ended, e)
		}
	}
	for process := range c.Last {
		if _, alive := last[process]; !alive {
			delete(c.Last, process)
		}
	}
	return ended, dropped, nil
}

// lastNumbers returns the number of the last entry of each process that is alive.
func (s ledgerStore) lastNumbers(ctx context.Context) (map[int64]int64, error) {
	rows, err := s.db.queryPrepared(ctx, `SELECT id, COALESCE((SELECT max(number) FROM ledger WHERE process = id), 0) FROM ledger_processes
		WHERE seen_time >= (SELECT max(seen_time) FROM ledger_processes) - ?`, tailAlive.Microseconds())
	if err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	defer rows.Close()
	last := map[int64]int64{}
	for rows.Next() {
		var process, number int64
		if err := rows.Scan(&process, &number); err != nil {
			return nil, fmt.Errorf("scan process: %w", err)
		}
		last[process] = number
	}
	return last, rows.Err()
}

// openKeys returns the entries that are open, of which an index has few.
func (s ledgerStore) openKeys(ctx context.Context) (map[ledger.Key]struct{}, error) {
	rows, err := s.db.queryPrepared(ctx, `SELECT process, number FROM ledger WHERE outcome = 'open' LIMIT ?`, tailOpen)
	if err != nil {
		return nil, fmt.Errorf("select open entries: %w", err)
	}
	defer rows.Close()
	open := map[ledger.Key]struct{}{}
	for rows.Next() {
		var key ledger.Key
		if err := rows.Scan(&key.Process, &key.Number); err != nil {
			return nil, fmt.Errorf("scan open entry: %w", err)
		}
		open[key] = struct{}{}
	}
	return open, rows.Err()
}

// ended returns the entries of the cursor that are not open any more, and forgets them.
func (s ledgerStore) ended(ctx context.Context, c *ledger.Cursor) (ended []ledger.Located, err error) {
	if len(c.Open) == 0 {
		return nil, nil
	}
	open, err := s.openKeys(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[int64][]any{}
	for key := range c.Open {
		if _, still := open[key]; !still {
			delete(c.Open, key)
			numbers[key.Process] = append(numbers[key.Process], key.Number)
		}
	}
	for process, all := range numbers {
		for len(all) > 0 {
			some := all[:min(len(all), tailChunk)]
			all = all[len(some):]
			size := tailFew // so that there are two statements, which stay prepared
			if len(some) > tailFew {
				size = tailChunk
			}
			args := append([]any{process}, some...)
			for len(args) <= size {
				args = append(args, some[0])
			}
			rows, err := s.located(ctx, s.db.queryPrepared, " WHERE process = ? AND number IN (?"+strings.Repeat(", ?", size-1)+")", args...)
			if err != nil {
				return nil, err
			}
			for _, e := range rows {
				if e.Outcome != ledger.Open {
					ended = append(ended, e)
				} else {
					c.Open[ledger.Key{Process: process, Number: e.Number}] = struct{}{}
				}
			}
		}
	}
	return ended, nil
}
