package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"modernc.org/sqlite"
)

// column is one of an entry's: an integer or a text.
type column struct {
	name    string
	integer func(*ledger.Entry) int64
	text    func(*ledger.Entry) string
}

// ledgerColumns are an entry's, in the order of scanEntry. Figures that sums are made of
// are amounts that every store holds exactly: no other reaches a statement.
var ledgerColumns = append([]column{
	{"number", func(e *ledger.Entry) int64 { return e.Number }, nil},
	{"request_id", nil, func(e *ledger.Entry) string { return e.ID }},
	{"key_id", nil, func(e *ledger.Entry) string { return e.KeyID }},
	{"owner", nil, func(e *ledger.Entry) string { return e.Owner }},
	{"protocol", nil, func(e *ledger.Entry) string { return e.Protocol }},
	{"method", nil, func(e *ledger.Entry) string { return e.Method }},
	{"model", nil, func(e *ledger.Entry) string { return e.Request.Model }},
	{"start_time", func(e *ledger.Entry) int64 { return e.Start.UnixMicro() }, nil},
	{"trace_id", nil, func(e *ledger.Entry) string { return e.TraceID }},
	{"outcome", nil, func(e *ledger.Entry) string { return string(e.Outcome) }},
	{"kind", nil, func(e *ledger.Entry) string { return e.Kind }},
	{"reason", nil, func(e *ledger.Entry) string { return e.Reason }},
	{"route", nil, func(e *ledger.Entry) string { return e.Route }},
	{"upstream", nil, func(e *ledger.Entry) string { return e.Upstream }},
	{"attempts", func(e *ledger.Entry) int64 { return e.Attempts }, nil},
	{"served_model", nil, func(e *ledger.Entry) string { return e.Result.Model }},
	{"cost", func(e *ledger.Entry) int64 { return amount.Bound(e.Cost) }, nil},
	{"price", nil, func(e *ledger.Entry) string { return e.Price }},
	{"usage_source", nil, func(e *ledger.Entry) string { return string(e.UsageSource) }},
	{"duration", func(e *ledger.Entry) int64 { return e.Duration.Microseconds() }, nil},
	{"first_event", func(e *ledger.Entry) int64 { return amount.Bound(e.FirstEvent.Microseconds()) }, nil},
	{"upstream_protocol", nil, func(e *ledger.Entry) string { return e.UpstreamProtocol }},
	{"losses", nil, func(e *ledger.Entry) string { return e.Losses }},
	{"timeline", nil, func(e *ledger.Entry) string { return e.Timeline }},
	{"unpriced", func(e *ledger.Entry) int64 { return flag(e.Unpriced) }, nil},
	{"charges", nil, func(e *ledger.Entry) string { return e.Charges }},
}, kindColumns()...)

// flag is how a column has a bool.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// kindColumns are the columns of what a request used.
func kindColumns() []column {
	columns := make([]column, len(ledger.Kinds))
	for i, k := range ledger.Kinds {
		columns[i] = column{k.Name, func(e *ledger.Entry) int64 { return amount.Bound(*e.Usage.At(k)) }, nil}
	}
	return columns
}

// openingColumns is how many of them are known as a request begins; they never change.
const openingColumns = 9

// columnNames are their names, as statements list them.
var columnNames = func() string {
	var names []string
	for _, c := range ledgerColumns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}()

// closeEntry follows the values of an insertion: what is open is closed, and what is
// closed stays as it is. identity are the columns of the unique index that an entry is known by.
func closeEntry(identity string) string {
	var set []string
	for _, c := range ledgerColumns[openingColumns:] {
		set = append(set, c.name+" = excluded."+c.name)
	}
	return ` ON CONFLICT (` + identity + `) DO UPDATE SET ` + strings.Join(set, ", ") + `
		WHERE ledger.outcome IN ('open', 'interrupted') AND excluded.outcome <> 'open'`
}

const (
	identityOfRow = "process, number"
	// identityByDay has the column of the partitions, which PostgreSQL wants in each unique index of
	// them. An entry's start_time is the same whenever and by whomever it is written.
	identityByDay = "process, number, start_time"
)

// value is what the column has of an entry: an int64 or a string.
func (c column) value(e *ledger.Entry) any {
	if c.text != nil {
		return text(c.text(e))
	}
	return c.integer(e)
}

// shared reports whether all entries have the same value.
func (c column) shared(entries []*ledger.Entry) bool {
	first := entries[0]
	for _, e := range entries[1:] {
		if c.text != nil && c.text(first) != c.text(e) || c.text == nil && c.integer(first) != c.integer(e) {
			return false
		}
	}
	return true
}

// text is s as every database keeps it: PostgreSQL refuses a zero byte and what is not
// UTF-8, and one such text would keep its whole batch from being written.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Write adds and closes entries in one transaction. Its error is ledger.ErrRefused where
// the database blames the values.
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
		err = s.writeArrays(ctx, process, merge(entries), itemsOf(entries))
	} else {
		err = s.writer.errs.note(s.writer.again(ctx, func() error { return s.rows.write(ctx, process, entries) }))
	}
	if err != nil && s.writer.refused(err) {
		return fmt.Errorf("%w: %w", ledger.ErrRefused, err)
	}
	return err
}

// writeArrays runs one statement for all, with an array for each column: one round
// trip to a server. A column that has one value in all entries, as the zeros of what they did not use, is an array of
// one. The rows that it has written give what was spent.
func (s ledgerStore) writeArrays(ctx context.Context, process int64, entries []*ledger.Entry, kept []ledger.Item) error {
	args := make([]any, 0, 4+len(ledgerColumns))
	args = append(args, process)
	for _, c := range ledgerColumns {
		of := entries
		if c.shared(entries) {
			of = entries[:1]
		}
		if c.text != nil {
			args = append(args, array(of, func(e *ledger.Entry) string { return text(c.text(e)) }))
		} else {
			args = append(args, array(of, c.integer))
		}
	}
	statement := upsertArrays
	if len(kept) > 0 {
		ids, sealed, expires := make([][]byte, len(kept)), make([][]byte, len(kept)), make([]int64, len(kept))
		for n := range kept {
			ids[n], sealed[n], expires[n] = kept[n].ID[:], kept[n].Sealed, kept[n].Expires.UnixMicro()
		}
		statement, args = upsertArraysAndItems, append(args, ids, sealed, expires)
	}
	if _, err := s.writer.exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("write %d entries: %w", len(entries), err)
	}
	return nil
}

var (
	upsertArrays         = writeOfArrays(nil)
	upsertArraysAndItems = writeOfArrays(func(next int) string {
		return fmt.Sprintf(`, kept AS (
			INSERT INTO items (id, sealed, expires) SELECT id, sealed, expires FROM unnest($%d::bytea[], $%d::bytea[], $%d::bigint[]) AS item (id, sealed, expires)`, next, next+1, next+2) + replaceItem + `
		)`
	})
)

// writeOfArrays is a statement that adds and closes entries of PostgreSQL, whose unnest has NULL where an array is shorter than
// others. more, if it is not nil, returns what else it writes, from the number of its first parameter.
func writeOfArrays(more func(next int) string) string {
	var arrays, values []string
	for n, c := range ledgerColumns {
		kind := "bigint"
		if c.text != nil {
			kind = "text"
		}
		parameter := "$" + strconv.Itoa(n+2) + "::" + kind + "[]"
		arrays = append(arrays, parameter)
		values = append(values, "COALESCE(entry."+c.name+", ("+parameter+")[1])")
	}
	also := ""
	if more != nil {
		also = more(len(ledgerColumns) + 2)
	}
	return `WITH written AS (
			INSERT INTO ledger (process, ` + columnNames + `) SELECT $1::bigint, ` + strings.Join(values, ", ") + `
			FROM unnest(` + strings.Join(arrays, ", ") + `) AS entry (` + columnNames + `)` + closeEntry(identityByDay) + `
			RETURNING process, start_time, key_id, owner, cost, outcome
		)` + also + ` INSERT INTO ledger_spent (day, process, key_id, owner, cost)
		SELECT start_time / 86400000000, process, key_id, owner, ` + postgresDialect.sum("cost") + ` FROM written
		WHERE outcome NOT IN ('open', 'interrupted') AND cost > 0 GROUP BY start_time / 86400000000, process, key_id, owner` + moreSpent
}

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

// A rowWriter writes entries to SQLite, several with a statement. In the process, what an
// entry costs is its statement and each of its values, so a value that all entries of a
// statement have, as zeros of what they did not use, is given once.
type rowWriter struct {
	pool *sql.DB

	mu       sync.Mutex
	prepared map[shape]*sql.Stmt
	beside   map[besideKey]*sql.Stmt
}

// beside is a table that rows are added to in the transaction of the entries.
type beside struct {
	insert string // with the parameters that all rows share
	row    string // the parameters of one
	more   string // what becomes of a row that exists
}

var (
	spentBeside = beside{`INSERT INTO ledger_spent (process, day, key_id, owner, cost) VALUES `, `(?1, ?, ?, ?, ?)`, moreSpent}
	itemsBeside = beside{`INSERT INTO items (id, sealed, expires) VALUES `, `(?, ?, ?)`, replaceItem}
)

// besideKey is what the text of such a statement depends on.
type besideKey struct {
	beside

	rows int
}

func newRowWriter(pool *sql.DB) *rowWriter {
	return &rowWriter{pool: pool, prepared: map[shape]*sql.Stmt{}, beside: map[besideKey]*sql.Stmt{}}
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

// step is a statement to run, which writes entries or what is beside them.
type step struct {
	statement *sql.Stmt
	args      []any
	entries   []*ledger.Entry
}

// errRepeated says that one statement has written some of the entries: those that
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
		case len(s.entries) == 0, s.entries[0].Outcome == ledger.Open, written == 0:
		case written < int64(len(s.entries)):
			return errRepeated
		default:
			spent.add(s.entries)
		}
	}
	w.mu.Lock()
	additions := addRows(w, spentBeside, []any{process}, slices.Collect(maps.Keys(spent)), func(args []any, s spender) []any {
		return append(args, s.day, s.keyID, s.owner, spent[s])
	})
	w.mu.Unlock()
	for _, s := range additions {
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
// they share little; the outcome is as if they were written in their order.
func (w *rowWriter) plan(ctx context.Context, process int64, entries []*ledger.Entry, rows []int) ([]step, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.prepareBeside(ctx, spentBeside); err != nil {
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
	kept := itemsOf(entries)
	if len(kept) == 0 {
		return steps, nil
	}
	if err := w.prepareBeside(ctx, itemsBeside); err != nil {
		return nil, err
	}
	return append(steps, addRows(w, itemsBeside, nil, kept, func(args []any, item ledger.Item) []any {
		return append(args, item.ID[:], item.Sealed, item.Expires.UnixMicro())
	})...), nil
}

// sharing is the shape that shares most. One entry shares nothing, so that there is one
// such statement.
func sharing(entries []*ledger.Entry) shape {
	s := shape{rows: len(entries)}
	if len(entries) == 1 {
		return s
	}
	for n, c := range ledgerColumns {
		if c.shared(entries) {
			s.shared |= 1 << n
		}
	}
	return s
}

// statement is the shape's or, where enough are kept, the statement of the kept shape that shares
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
// then the arguments of each entry.
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

// Spent sums up what was spent, by key, owner and process. Of one key or one owner, it uses the indexes
// ledger_spent_key and ledger_spent_owner.
func (s ledgerStore) Spent(ctx context.Context, since time.Time, keyID, owner string) ([]ledger.Spend, error) {
	args := []any{sinceMicros(since) / microsOfDay}
	of := ""
	if keyID != "" {
		of, args = "key_id", append(args, keyID)
	} else if owner != "" {
		of, args = "owner", append(args, owner)
	}
	rows, err := s.db.query(ctx, spentSince(s.db.dialect, of), args...)
	if err != nil {
		return nil, fmt.Errorf("sum costs: %w", err)
	}
	defer rows.Close()
	var spent []ledger.Spend
	for rows.Next() {
		var spend ledger.Spend
		var process, began int64
		if err := rows.Scan(&spend.KeyID, &spend.Owner, &process, &began, &spend.Cost); err != nil {
			return nil, fmt.Errorf("sum costs: %w", err)
		}
		spend.Process = ledger.ProcessName(process, time.UnixMicro(began))
		spent = append(spent, spend)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum costs: %w", err)
	}
	return spent, nil
}

// spentSince sums up by process, of which there is no row for what was spent before the table (process 0). of is a
// column to select one value of; empty for none.
func spentSince(d *dialect, of string) string {
	if of != "" {
		of = ` AND ` + of + ` = ?`
	}
	return `SELECT s.key_id, s.owner, s.process, COALESCE(p.start_time, 0), s.cost FROM (` +
		`SELECT key_id, owner, process, ` + d.sum("cost") + ` AS cost FROM ledger_spent WHERE day >= ?` + of + ` GROUP BY key_id, owner, process` +
		`) AS s LEFT JOIN ledger_processes AS p ON p.id = s.process ORDER BY s.key_id, s.owner, s.process`
}

// spender is whose costs of a day are one row of ledger_spent.
type spender struct {
	day          int64
	keyID, owner string
}

// costs are what is added to rows.
type costs map[spender]int64

// add adds what entries that have been closed cost. That of an interrupted one is not
// known: the process that ran the request may still report it.
func (c costs) add(entries []*ledger.Entry) {
	for _, e := range entries {
		if e.Outcome != ledger.Interrupted && e.Cost > 0 {
			s := spender{e.Start.UnixMicro() / microsOfDay, text(e.KeyID), text(e.Owner)}
			c[s] = amount.Sum(c[s], amount.Bound(e.Cost))
		}
	}
}

var moreSpent = ` ON CONFLICT (day, process, key_id, owner) DO UPDATE SET cost = ` + saturated("ledger_spent.cost", "excluded.cost")

// prepareBeside prepares the statements that add to a table. The caller holds mu, and no transaction.
func (w *rowWriter) prepareBeside(ctx context.Context, to beside) error {
	for _, n := range shapeRows {
		key := besideKey{to, n}
		if w.beside[key] != nil {
			continue
		}
		prepared, err := w.pool.PrepareContext(ctx, to.insert+repeated(to.row, n)+to.more) //nolint:sqlclosecheck // it is closed with the pool
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		w.beside[key] = prepared
	}
	return nil
}

// addRows returns the statements that add rows to a table, which are prepared. The caller holds mu.
func addRows[R any](w *rowWriter, to beside, shared []any, rows []R, add func(args []any, row R) []any) (steps []step) {
	for _, n := range shapeRows {
		for ; len(rows) >= n; rows = rows[n:] {
			args := slices.Clone(shared)
			for _, row := range rows[:n] {
				args = add(args, row)
			}
			steps = append(steps, step{statement: w.beside[besideKey{to, n}], args: args})
		}
	}
	return steps
}
