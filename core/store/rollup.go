package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// The levels of ledger_rollups.
const (
	byHour = iota
	byDay
	byDayAlone // without key and owner
)

// clocksDiffer is how much later than this machine's the clock of another one may be.
const clocksDiffer = time.Minute

const (
	microsOfHour = 60 * 60 * 1_000_000
	hoursOfDay   = 24
	// unrolled is what ledger_hours.rolled and in_day are before there are roll-ups.
	unrolled = -1
	// longestGap is how many hours without rows are rolled up as well, so that the hours that
	// have roll-ups are few spans. A longer gap is left open.
	longestGap = 31 * hoursOfDay
)

// Leads reports whether a process is the one that rolls up: of those that can and are alive,
// the first. One that was last alive later than now, by more than clocks of machines differ,
// sent its heartbeat before the clock was set back, and may be dead.
func (s ledgerStore) Leads(ctx context.Context, process int64, dead time.Time) (bool, error) {
	var first sql.NullInt64
	err := s.db.row(ctx, `SELECT min(id) FROM ledger_processes WHERE seen_time BETWEEN ? AND ?`, dead.UnixMicro(), dead.Add(clocksDiffer).UnixMicro()).Scan(&first)
	if err != nil {
		return false, fmt.Errorf("select processes: %w", err)
	}
	return first.Valid && first.Int64 == process, nil
}

// Roll does one step: it rolls up an hour or a day, or makes known that an hour will be.
func (s ledgerStore) Roll(ctx context.Context, before time.Time) (done bool, err error) {
	horizon := before.UnixMicro() / microsOfHour
	for _, step := range []func(context.Context, int64) (bool, error){s.rollHour, s.rollDay, s.announce} {
		if done, err = step(ctx, horizon); done || err != nil {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("roll up: %w", err)
	}
	return done, nil
}

// errChanged says that rows of an hour have changed while they were summed up.
var errChanged = errors.New("rows have changed meanwhile")

// rollHour rolls up the first hour whose roll-ups do not match its rows. The rows are
// summed up while writers go on. The transaction that writes the sums says which of the
// hour's changes they have; where there are more by then, it is undone.
func (s ledgerStore) rollHour(ctx context.Context, horizon int64) (bool, error) {
	var hour, changed, rolled int64
	err := s.db.row(ctx, `SELECT hour, changed, rolled FROM ledger_hours WHERE rolled <> changed AND hour >= ? AND hour < ? ORDER BY hour LIMIT 1`, firstHour, horizon).Scan(&hour, &changed, &rolled)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil && rolled == unrolled {
		if err = s.settled(ctx); err == nil {
			if n, err := s.rollEmpty(ctx, hour, horizon); n > 0 || err != nil {
				return n > 0, err
			}
		}
	}
	if err != nil {
		return false, err
	}
	rows, err := s.db.query(ctx, hourStatement(s.db.dialect), hour*microsOfHour, (hour+1)*microsOfHour)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	more := rows.Next() // the sums are made by now: what follows blocks no one
	if err := rows.Err(); err != nil {
		return false, err
	}
	err = s.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		if _, err := tx.exec(ctx, `DELETE FROM ledger_rollups WHERE level = ? AND period = ?`, byHour, hour); err != nil {
			return err
		}
		if err := insertRollups(ctx, tx, hour, rows, more); err != nil {
			return err
		}
		n, err := tx.exec(ctx, `UPDATE ledger_hours SET rolled = changed WHERE hour = ? AND changed = ?`, hour, changed)
		if err == nil && n == 0 {
			err = errChanged
		}
		return err
	})
	switch {
	case errors.Is(err, errChanged):
		return true, nil // it is tried again with the next step
	case err != nil && (s.db.taken(err) || s.db.retry(err)):
		return false, nil // another process does it
	}
	return err == nil, err
}

// rollEmpty says of hours from one on that have never been rolled up, up to the next that has
// rows, that they have the roll-ups of their rows, which are none. An hour whose rows change at
// the same moment is left out, or counts that as a change.
func (s ledgerStore) rollEmpty(ctx context.Context, hour, horizon int64) (hours int64, err error) {
	var first sql.NullInt64
	if err := s.db.row(ctx, `SELECT min(start_time) FROM ledger WHERE start_time >= ?`, hour*microsOfHour).Scan(&first); err != nil {
		return 0, err
	}
	if first.Valid {
		horizon = min(horizon, first.Int64/microsOfHour)
	}
	if horizon <= hour {
		return 0, nil
	}
	return s.db.exec(ctx, `UPDATE ledger_hours SET rolled = 0 WHERE rolled = ? AND changed = 0 AND hour >= ? AND hour < ?
		AND NOT EXISTS (SELECT 1 FROM ledger WHERE start_time >= ? AND start_time < ?)`, unrolled, hour, horizon, hour*microsOfHour, horizon*microsOfHour)
}

// ErrTransactionOpen is returned if roll-ups have waited for earlier transactions, in any database of the
// server, for two seconds. The next try may find them ended.
var ErrTransactionOpen = errors.New("another program holds a transaction open on the database's server")

// settled waits until every transaction has ended that may have changed rows of an hour
// without counting that: it began before the hour was known.
func (s ledgerStore) settled(ctx context.Context) error {
	if s.db.newest == "" {
		return nil
	}
	var newest, oldest int64
	if err := s.db.row(ctx, s.db.newest).Scan(&newest); err != nil {
		return err
	}
	wait := time.NewTicker(settledEvery)
	defer wait.Stop()
	for range settledTries {
		if err := s.db.row(ctx, s.db.oldest).Scan(&oldest); err != nil || oldest >= newest {
			return err
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ErrTransactionOpen
}

const (
	settledEvery = 20 * time.Millisecond
	settledTries = 100
)

// rollDay adds up the roll-ups of the hours of a day that all have them.
func (s ledgerStore) rollDay(ctx context.Context, horizon int64) (bool, error) {
	var day int64
	err := s.db.row(ctx, `SELECT hour / 24 FROM ledger_hours WHERE hour < ? GROUP BY hour / 24
		HAVING count(*) = 24 AND sum(CASE WHEN rolled = changed THEN 0 ELSE 1 END) = 0 AND sum(CASE WHEN in_day = changed THEN 0 ELSE 1 END) > 0 ORDER BY 1 LIMIT 1`,
		horizon).Scan(&day)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.db.isolated(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, `DELETE FROM ledger_rollups WHERE level IN (1, 2) AND period = ?`, day); err != nil {
			return err
		}
		for _, level := range []int{byDay, byDayAlone} {
			if _, err := tx.exec(ctx, dayStatement(s.db.dialect, level), day, day*hoursOfDay, (day+1)*hoursOfDay); err != nil {
				return err
			}
		}
		// Hours with a later change have a counter above that.
		_, err := tx.exec(ctx, `UPDATE ledger_hours SET in_day = rolled WHERE hour >= ? AND hour < ?`, day*hoursOfDay, (day+1)*hoursOfDay)
		return err
	})
	if err != nil && (s.db.taken(err) || s.db.retry(err)) {
		return false, nil // another process does it
	}
	return err == nil, err
}

// announce makes the next hours known that have rows, with those between: from then on their
// changes are counted. It begins with the day of the first row.
func (s ledgerStore) announce(ctx context.Context, horizon int64) (bool, error) {
	var last, first sql.NullInt64
	if err := s.db.row(ctx, `SELECT max(hour) FROM ledger_hours`).Scan(&last); err != nil {
		return false, err
	}
	from := int64(firstHour)
	if last.Valid {
		from = last.Int64 + 1
	}
	err := s.db.row(ctx, `SELECT min(start_time) FROM ledger WHERE start_time >= ?`, from*microsOfHour).Scan(&first)
	if err != nil || !first.Valid {
		return false, err
	}
	next := first.Int64 / microsOfHour
	if next >= horizon {
		return false, nil
	}
	if !last.Valid || next-from > longestGap {
		from = max(next/hoursOfDay*hoursOfDay, firstHour)
	}
	to := min(max(from/hoursOfDay, next/hoursOfDay)*hoursOfDay+hoursOfDay, horizon)
	var hours []string
	for hour := from; hour < to; hour++ {
		hours = append(hours, fmt.Sprintf("(%d, 0, %d, %d)", hour, unrolled, unrolled))
	}
	_, err = s.db.exec(ctx, `INSERT INTO ledger_hours (hour, changed, rolled, in_day) VALUES `+strings.Join(hours, ", ")+` ON CONFLICT (hour) DO NOTHING`)
	return err == nil, err
}

// rollRows is how many roll-ups are written with a statement.
const rollRows = 50

// rolledBy are the columns that a period's roll-ups have a row for each combination of.
var rolledBy = prunedBy[1:]

// hourStatement sums up the closed rows of an hour.
func hourStatement(d *dialect) string {
	values := slices.Clone(rolledBy)
	for _, s := range sums {
		values = append(values, s.ofEntries(d.sum))
	}
	return `SELECT ` + strings.Join(values, ", ") + ` FROM ledger WHERE start_time >= ? AND start_time < ? AND outcome <> 'open' GROUP BY ` + strings.Join(rolledBy, ", ")
}

// rollupColumns are the columns of ledger_rollups.
var rollupColumns = func() []string {
	columns := append([]string{"level", "period"}, rolledBy...)
	for _, s := range sums {
		columns = append(columns, s.column)
	}
	return columns
}()

// insertRollups writes an hour's sums as they are read.
func insertRollups(ctx context.Context, tx transaction, hour int64, rows *result, more bool) error {
	var args []any
	row := "(" + strings.Repeat("?, ", len(rollupColumns)-1) + "?)"
	insert := func() error {
		n := len(args) / len(rollupColumns)
		if n == 0 {
			return nil
		}
		_, err := tx.exec(ctx, `INSERT INTO ledger_rollups (`+strings.Join(rollupColumns, ", ")+`) VALUES `+row+strings.Repeat(", "+row, n-1), args...)
		args = args[:0]
		return err
	}
	for ; more; more = rows.Next() {
		texts, r := make([]string, len(rolledBy)), ledger.Row{}
		figures := sumsOf(&r)
		var into []any
		for i := range texts {
			into = append(into, &texts[i])
		}
		if err := rows.Scan(append(into, figures...)...); err != nil {
			return err
		}
		args = append(args, byHour, hour)
		for _, t := range texts {
			args = append(args, t)
		}
		args = append(args, figures...)
		if len(args) == rollRows*len(rollupColumns) {
			if err := insert(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return insert()
}

// dayStatement adds up the hours of a day.
func dayStatement(d *dialect, level int) string {
	by, values := slices.Clone(rolledBy), []string(nil)
	if level == byDayAlone {
		by = by[2:]
		values = append(values, "''", "''")
	}
	values = append(values, by...)
	for _, s := range sums {
		values = append(values, d.sum(s.column))
	}
	return `INSERT INTO ledger_rollups (` + strings.Join(rollupColumns, ", ") + `) SELECT ` + strconv.Itoa(level) + `, CAST(? AS BIGINT), ` + strings.Join(values, ", ") +
		` FROM ledger_rollups WHERE level = 0 AND period >= ? AND period < ? GROUP BY ` + strings.Join(by, ", ")
}

// span is a time of which a report reads one table, in microseconds since 1970: from the
// first up to the second. Those without a bound are from the least or to the largest number.
type span struct {
	level    int // of ledger_rollups, or rows
	from, to int64
}

// rows is the level of a span whose entries are read.
const rows = -1

// hourState is an hour whose roll-ups match its rows.
type hourState struct {
	hour int64
	full bool // they are in the day's as well
}

// spans are what a report of a query reads, in order and without gaps: the roll-ups of whole
// days and hours that are up to date, and the entries of the rest.
func spans(ctx context.Context, tx transaction, query ledger.Query) ([]span, error) {
	whole := between(query.Since, query.Until)
	hours, err := goodHours(ctx, tx, whole)
	if err != nil {
		return nil, err
	}
	day := byDay
	if !slices.Contains(query.By, ledger.ByKey) && !slices.Contains(query.By, ledger.ByOwner) {
		day = byDayAlone
	}
	if slices.Contains(query.By, ledger.ByHour) {
		day = byHour
	}
	return cover(whole.from, whole.to, hours, day), nil
}

// goodHours are the whole hours of a time whose roll-ups match their rows.
func goodHours(ctx context.Context, tx transaction, whole span) ([]hourState, error) {
	states, err := tx.query(ctx, `SELECT hour, CASE WHEN in_day = changed THEN 1 ELSE 0 END FROM ledger_hours
		WHERE rolled = changed AND hour >= ? AND hour < ? ORDER BY hour`, hourUp(whole.from), whole.to/microsOfHour)
	if err != nil {
		return nil, err
	}
	defer states.Close()
	var hours []hourState
	for states.Next() {
		var h hourState
		if err := states.Scan(&h.hour, &h.full); err != nil {
			return nil, err
		}
		hours = append(hours, h)
	}
	return hours, states.Err()
}

// cover divides a time into spans, by the hours in it that have good roll-ups. day is the level to
// read of whole days: byHour is none.
func cover(from, to int64, hours []hourState, day int) []span {
	var all []span
	add := func(level int, until int64) {
		last := len(all) - 1
		switch {
		case until <= from:
			return
		case last >= 0 && all[last].level == level:
			all[last].to = until
		default:
			all = append(all, span{level, from, until})
		}
		from = until
	}
	for len(hours) > 0 {
		level, n := byHour, 1
		if day != byHour && wholeDay(hours) {
			level, n = day, hoursOfDay
		}
		add(rows, hours[0].hour*microsOfHour)
		add(level, (hours[n-1].hour+1)*microsOfHour)
		hours = hours[n:]
	}
	add(rows, to)
	return all
}

// wholeDay reports whether hours begin with a day that has roll-ups of its own.
func wholeDay(hours []hourState) bool {
	if hours[0].hour%hoursOfDay != 0 || len(hours) < hoursOfDay || hours[hoursOfDay-1].hour != hours[0].hour+hoursOfDay-1 {
		return false
	}
	return !slices.ContainsFunc(hours[:hoursOfDay], func(h hourState) bool { return !h.full })
}

// firstHour is the first that may have roll-ups: those before are not whole, since the
// division of a number below 0 rounds up.
const firstHour = 1

// hourUp is the first hour that begins at a time or later, and may have roll-ups.
func hourUp(micros int64) int64 {
	if micros <= 0 {
		return firstHour
	}
	return (micros-1)/microsOfHour + 1
}

// between is the span of the entries that began at since or later, before until. A zero time
// is no bound.
func between(since, until time.Time) span {
	s := span{rows, math.MinInt64, math.MaxInt64}
	if !since.IsZero() {
		s.from = since.UnixMicro()
	}
	if !until.IsZero() {
		s.to = until.UnixMicro()
	}
	return s
}
