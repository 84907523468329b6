package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/genway/genway/core/ledger"
	"modernc.org/sqlite"
)

// A rowWriter writes entries to SQLite, several with a statement. In the process, what an
// entry costs is its statement and each of its values, so a value that all entries of a
// statement have, as zeros of what they did not use, is given once.
type rowWriter struct {
	pool *sql.DB

	mu       sync.Mutex
	prepared map[shape]*sql.Stmt
	adders   map[int]*sql.Stmt // of costs, by rows
}

func newRowWriter(pool *sql.DB) *rowWriter {
	return &rowWriter{pool: pool, prepared: map[shape]*sql.Stmt{}, adders: map[int]*sql.Stmt{}}
}

// shape is what the text of a statement depends on.
type shape struct {
	rows int
	// shared has a bit for each column whose value is given once.
	shared uint64
}

// shapeRows are how many entries a statement may have: small ones for the rest.
var shapeRows = []int{32, 8, 2, 1}

// maxPrepared bounds the statements that are kept of each size. Once there are as many, one
// that shares less serves.
const maxPrepared = 24

// step is a statement to run, which writes entries.
type step struct {
	statement *sql.Stmt
	args      []any
	entries   []*ledger.Entry
}

// errRepeated is of entries of which one statement has written some: those that
// are new give what they cost.
var errRepeated = errors.New("some entries were written before")

// write writes entries in one transaction, and adds what they cost to what was spent.
func (w *rowWriter) write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	err := w.writeBy(ctx, process, entries, shapeRows)
	if errors.Is(err, errRepeated) {
		err = w.writeBy(ctx, process, entries, []int{1})
	}
	return err
}

// writeBy is write with statements of so many rows. All that waits is the transaction's
// beginning: a statement that holds the lock only computes, and need not be watched over
// for the end of ctx.
func (w *rowWriter) writeBy(ctx context.Context, process int64, entries []*ledger.Entry, rows []int) error {
	steps, err := w.plan(ctx, process, entries, rows)
	if err != nil {
		return err
	}
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, before it the error is known
	running := context.WithoutCancel(ctx)
	exec := func(statement *sql.Stmt, args []any) (int64, error) {
		n, err := affected(tx.StmtContext(running, statement).ExecContext(running, args...)) //nolint:sqlclosecheck // the transaction ends it
		return n, brokenOff(ctx, err)
	}
	spent := costs{}
	for _, s := range steps {
		written, err := exec(s.statement, s.args)
		switch {
		case err != nil:
			return fmt.Errorf("write entries: %w", err)
		case s.entries[0].Outcome == ledger.Open || written == 0:
		case written < int64(len(s.entries)):
			return errRepeated
		default:
			spent.add(s.entries)
		}
	}
	for _, s := range w.additions(process, spent) {
		if _, err := exec(s.statement, s.args); err != nil {
			return fmt.Errorf("add what was spent: %w", err)
		}
	}
	if err := brokenOff(ctx, tx.Commit()); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// brokenOff returns why ctx has ended for the error of a transaction that was rolled back by that. Such an error is
// of package sql, as "statement is closed", and not of the database.
func brokenOff(ctx context.Context, err error) error {
	if _, own := errors.AsType[*sqlite.Error](err); err == nil || own || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// plan returns the statements that write entries. Openings come before the rest, with which
// they share little; the outcome is that of the order they are in.
func (w *rowWriter) plan(ctx context.Context, process int64, entries []*ledger.Entry, rows []int) ([]step, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.prepareAdders(ctx); err != nil {
		return nil, err
	}
	var open, closed []*ledger.Entry
	for _, e := range entries {
		if e.Outcome == ledger.Open {
			open = append(open, e)
		} else {
			closed = append(closed, e)
		}
	}
	var steps []step
	for _, rest := range [][]*ledger.Entry{open, closed} {
		for _, n := range rows {
			for ; len(rest) >= n; rest = rest[n:] {
				s, statement, err := w.statement(ctx, sharing(rest[:n]))
				if err != nil {
					return nil, fmt.Errorf("prepare: %w", err)
				}
				steps = append(steps, step{statement, s.args(process, rest[:n]), rest[:n]})
			}
		}
	}
	return steps, nil
}

// sharing is the shape that shares most. One entry shares nothing, so that there is one
// such statement.
func sharing(entries []*ledger.Entry) shape {
	s := shape{rows: len(entries)}
	if len(entries) == 1 {
		return s
	}
columns:
	for n, c := range ledgerColumns {
		for _, e := range entries[1:] {
			if !c.same(entries[0], e) {
				continue columns
			}
		}
		s.shared |= 1 << n
	}
	return s
}

// statement is a shape's or, where enough are kept, that of the one among them that shares
// most of what it does. The caller holds mu, and no transaction, whose connection is the
// only one.
func (w *rowWriter) statement(ctx context.Context, s shape) (shape, *sql.Stmt, error) {
	if prepared, ok := w.prepared[s]; ok {
		return s, prepared, nil
	}
	kept, best := 0, shape{rows: s.rows}
	for other := range w.prepared {
		if other.rows != s.rows {
			continue
		}
		kept++
		if other.shared&^s.shared == 0 && bits.OnesCount64(other.shared) > bits.OnesCount64(best.shared) {
			best = other
		}
	}
	if kept >= maxPrepared {
		if s = best; w.prepared[s] != nil {
			return s, w.prepared[s], nil
		}
	}
	prepared, err := w.pool.PrepareContext(ctx, s.upsert())
	if err == nil {
		w.prepared[s] = prepared
	}
	return s, prepared, err
}

// upsert is the statement of a shape: the process is the first value, those shared follow,
// then those of each entry.
func (s shape) upsert() string {
	names, row, own := []string{"process"}, []string{"?1"}, []string(nil)
	for n, c := range ledgerColumns {
		if s.shared&(1<<n) != 0 {
			names, row = append(names, c.name), append(row, "?"+strconv.Itoa(len(row)+1))
		} else {
			own = append(own, c.name)
		}
	}
	for range own {
		row = append(row, "?") // the next after the last
	}
	values := "(" + strings.Join(row, ", ") + ")"
	return `INSERT INTO ledger (` + strings.Join(append(names, own...), ", ") + `) VALUES ` + values + strings.Repeat(", "+values, s.rows-1) + closeEntry(identityOfRow)
}

func (s shape) args(process int64, entries []*ledger.Entry) []any {
	args := make([]any, 0, 1+len(ledgerColumns)*len(entries))
	args = append(args, process)
	for n, c := range ledgerColumns {
		if s.shared&(1<<n) != 0 {
			args = append(args, c.value(entries[0]))
		}
	}
	for _, e := range entries {
		for n, c := range ledgerColumns {
			if s.shared&(1<<n) == 0 {
				args = append(args, c.value(e))
			}
		}
	}
	return args
}
