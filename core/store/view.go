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

// ledgerView is a ledger.View: a transaction that only reads.
type ledgerView struct{ tx transaction }

// View runs do on one state of the database.
func (s ledgerStore) View(ctx context.Context, do func(ledger.View) error) error {
	return s.view(ctx, func(tx transaction) error { return do(ledgerView{tx}) })
}

// view is that of the database. A partition that were dropped meanwhile would be missing from its state, since
// a transaction sees tables as they are and rows as they were: the lock, which only that waits for,
// is taken before the transaction has a state.
func (s ledgerStore) view(ctx context.Context, do func(transaction) error) error {
	return s.db.view(ctx, func(tx transaction) error {
		if s.db.partitions != "" {
			if _, err := tx.exec(ctx, `LOCK TABLE ONLY ledger IN ACCESS SHARE MODE`); err != nil {
				return err
			}
		}
		return do(tx)
	})
}

// Next looks for the first moment in each table.
func (v ledgerView) Next(ctx context.Context, since time.Time) (next time.Time, err error) {
	from := between(since, time.Time{}).from
	for _, table := range []struct {
		statement string
		period    int64
	}{
		{`SELECT min(start_time) FROM ledger WHERE start_time >= ?`, 1},
		{`SELECT min(hour) FROM ledger_hours WHERE hour >= ?`, microsOfHour},
		{`SELECT min(day) FROM ledger_days WHERE day >= ?`, microsOfDay},
	} {
		var first sql.NullInt64
		if err := v.tx.row(ctx, table.statement, from/table.period).Scan(&first); err != nil {
			return time.Time{}, fmt.Errorf("select the next entry: %w", err)
		}
		at := time.UnixMicro(max(first.Int64*table.period, from)).UTC()
		if first.Valid && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

// Walk walks over the entries of a time.
func (v ledgerView) Walk(ctx context.Context, since, until time.Time) iter.Seq2[*ledger.Entry, error] {
	where, args := between(since, until).during()
	return entries(ctx, v.tx.query, where+" ORDER BY start_time", args)
}

// Report makes sums that saturate: after an error of one that does not, a transaction of
// PostgreSQL's is over.
func (v ledgerView) Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error) {
	report, err := reportBy(ctx, v.tx, query, v.tx.sum)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return report, nil
}

// rolledDimensions are those of the columns of ledger_rollups.
var rolledDimensions = []ledger.Dimension{ledger.ByKey, ledger.ByOwner, ledger.ByProtocol, ledger.ByModel, ledger.ByUpstream, ledger.ByServed}

// Rolled reads the roll-ups of the hours of a day that are those of its rows, and the day's
// own where all are in them.
func (v ledgerView) Rolled(ctx context.Context, day time.Time) ([]ledger.Rolled, error) {
	query := ledger.Query{Since: day, Until: day.AddDate(0, 0, 1)}
	hours, err := goodHours(ctx, v.tx, between(query.Since, query.Until))
	if err != nil {
		return nil, fmt.Errorf("select hours: %w", err)
	}
	var all []ledger.Rolled
	read := func(level int, period int64, length time.Duration, by []ledger.Dimension) error {
		rolled := ledger.Rolled{Start: time.UnixMicro(period * length.Microseconds()).UTC(), Length: length, By: by}
		var err error
		if rolled.Rows, err = rollups(ctx, v.tx, level, period, by); err != nil {
			return fmt.Errorf("select roll-ups: %w", err)
		}
		all = append(all, rolled)
		return nil
	}
	for _, h := range hours {
		if err := read(byHour, h.hour, time.Hour, rolledDimensions); err != nil {
			return nil, err
		}
	}
	if len(hours) > 0 && wholeDay(hours) {
		for level, by := range map[int][]ledger.Dimension{byDay: rolledDimensions, byDayAlone: rolledDimensions[2:]} {
			if err := read(level, hours[0].hour/hoursOfDay, 24*time.Hour, by); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// rollups reads those of a period.
func rollups(ctx context.Context, tx transaction, level int, period int64, by []ledger.Dimension) ([]ledger.Row, error) {
	rows, err := tx.query(ctx, `SELECT `+strings.Join(rollupColumns[2:], ", ")+` FROM ledger_rollups WHERE level = ? AND period = ?`, level, period)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []ledger.Row
	for rows.Next() {
		r := ledger.Row{Values: make([]string, len(rolledDimensions))}
		var into []any
		for i := range r.Values {
			into = append(into, &r.Values[i])
		}
		if err := rows.Scan(append(into, sumsOf(&r)...)...); err != nil {
			return nil, err
		}
		r.Values = r.Values[len(rolledDimensions)-len(by):]
		all = append(all, r)
	}
	return all, rows.Err()
}
