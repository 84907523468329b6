package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// dimensions are the columns of what a report can have rows for: in ledger, where days and
// hours are reckoned, and in ledger_days. By hour an hour is an odd number, and a day whose hours
// are not known is the even one ahead of its hours; see hour.
var dimensions = map[ledger.Dimension]struct{ entry, pruned string }{
	ledger.ByKey:      {"key_id", "key_id"},
	ledger.ByOwner:    {"owner", "owner"},
	ledger.ByModel:    {"model", "model"},
	ledger.ByDay:      {"start_time / 86400000000", "day"}, // days since 1970; see day
	ledger.ByHour:     {"start_time / 3600000000 * 2 + 1", "day * 48"},
	ledger.ByProtocol: {"protocol", "protocol"},
	ledger.ByUpstream: {"upstream", "upstream"},
	ledger.ByServed:   {"served_model", "served_model"},
}

// figure is one of a report: its column in ledger_days, and how it is counted in entries,
// of which it is the sum of the same column unless this says otherwise.
type figure struct{ column, counted string }

// sums are the figures of a report, in the order of sumsOf. Open entries are never pruned.
var sums = slices.Concat([]figure{
	{"requests", "count(*)"},
	{"ok", "count(*) FILTER (WHERE outcome = 'ok')"},
	{"failed", "count(*) FILTER (WHERE outcome = 'failed')"},
	{"cancelled", "count(*) FILTER (WHERE outcome = 'cancelled')"},
	{"interrupted", "count(*) FILTER (WHERE outcome = 'interrupted')"},
	{"cost", ""},
	{"unpriced", "count(*) FILTER (WHERE unpriced = 1 OR charges = '' AND price = '' AND input_tokens + output_tokens + images > 0)"},
	{"estimated", "count(*) FILTER (WHERE usage_source <> '')"},
	{"rejected", "count(*) FILTER (WHERE usage_source = 'rejected')"},
}, kindSums(), firstEventSums())

// kindSums are the figures of what requests used.
func kindSums() []figure {
	var all []figure
	for _, k := range ledger.Kinds {
		all = append(all, figure{k.Name, ""})
	}
	return all
}

// ofEntries is the figure of entries, by a way to sum a column.
func (f figure) ofEntries(sum func(column string) string) string {
	if f.counted != "" {
		return f.counted
	}
	return sum(f.column)
}

// plainSum fails where an integer cannot hold the sum.
func plainSum(column string) string { return "CAST(sum(" + column + ") AS BIGINT)" }

// sumsOf are the figures of a row, in the order of sums.
func sumsOf(r *ledger.Row) []any {
	all := []any{&r.Requests, &r.OK, &r.Failed, &r.Cancelled, &r.Interrupted, &r.Cost, &r.Unpriced, &r.Estimated, &r.Rejected}
	for _, k := range ledger.Kinds {
		all = append(all, r.Usage.At(k))
	}
	return append(all, firstEventsOf(&r.FirstEvents)...)
}

// Report sums the entries up, and what was pruned, of one state of the database.
func (s ledgerStore) Report(ctx context.Context, query ledger.Query) (report []ledger.Row, err error) {
	// The sums saturate, for which they are taken once more where they have to: plain ones
	// are quicker.
	for _, sum := range []func(string) string{plainSum, s.db.sum} {
		err = s.view(ctx, func(tx transaction) error {
			report, err = reportBy(ctx, tx, query, sum)
			return err
		})
		if err == nil || !s.db.overflow(err) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return report, nil
}

// known refuses dimensions that there are not, and those that stand there twice.
func known(by []ledger.Dimension) error {
	for i, d := range by {
		if _, ok := dimensions[d]; !ok || slices.Contains(by[:i], d) {
			return fmt.Errorf("no dimension %q, or twice", d)
		}
	}
	return nil
}

// reportBy makes a report with a way to sum a column.
func reportBy(ctx context.Context, tx transaction, query ledger.Query, sum func(string) string) ([]ledger.Row, error) {
	if err := known(query.By); err != nil {
		return nil, err
	}
	parts, err := reportParts(ctx, tx, query, sum)
	if err != nil {
		return nil, err
	}
	if len(parts) <= maxParts {
		statement := reportOf(query, sum, parts)
		if query.Limit > 0 {
			statement.statement += " LIMIT " + strconv.Itoa(query.Limit)
		}
		return reportRows(ctx, tx, query, statement)
	}
	merged := map[string]*ledger.Row{}
	for some := range slices.Chunk(parts, maxParts) {
		rows, err := reportRows(ctx, tx, query, reportOf(query, sum, some))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			key := strings.Join(r.Values, "\x00") // no value has one
			if merged[key] == nil {
				merged[key] = &ledger.Row{Values: r.Values}
			}
			merged[key].Add(r)
		}
	}
	report := make([]ledger.Row, 0, len(merged))
	for _, r := range merged {
		report = append(report, *r)
	}
	slices.SortFunc(report, func(a, b ledger.Row) int { return slices.Compare(a.Values, b.Values) })
	if query.Limit > 0 && len(report) > query.Limit {
		report = report[:query.Limit]
	}
	return report, nil
}

// reportRows reads the rows of a report.
func reportRows(ctx context.Context, tx transaction, query ledger.Query, statement part) ([]ledger.Row, error) {
	rows, err := tx.query(ctx, statement.statement, statement.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var report []ledger.Row
	for rows.Next() {
		r := ledger.Row{Values: make([]string, len(query.By))}
		figures := append(sumsOf(&r), &r.Open)
		for i := range r.Values {
			figures = append(figures, &r.Values[i])
		}
		if err := rows.Scan(figures...); err != nil {
			return nil, err
		}
		for i, by := range query.By {
			write := timeTexts[by]
			if write == nil {
				continue
			}
			number, err := strconv.ParseInt(r.Values[i], 10, 64)
			if err != nil {
				return nil, err
			}
			r.Values[i] = write(number)
		}
		report = append(report, r)
	}
	return report, rows.Err()
}

func entryDimension(d ledger.Dimension) string  { return dimensions[d].entry }
func prunedDimension(d ledger.Dimension) string { return dimensions[d].pruned }

// rolledDimension returns the columns of a level of ledger_rollups.
func rolledDimension(level int) func(ledger.Dimension) string {
	return func(d ledger.Dimension) string {
		switch {
		case d == ledger.ByHour: // of which a report reads the hours alone
			return "period * 2 + 1"
		case d != ledger.ByDay:
			return dimensions[d].pruned
		case level == byHour:
			return "period / 24"
		}
		return "period"
	}
}

// timeTexts write the numbers of dimensions that are times.
var timeTexts = map[ledger.Dimension]func(int64) string{ledger.ByDay: day, ledger.ByHour: hour}

// day writes a number of days since 1970 as a date.
func day(n int64) string { return time.Unix(n*secondsOfDay, 0).UTC().Format(time.DateOnly) }

// hour writes what dimensions has as the column of an hour: 2h+1 is the hour h since 1970, and 48d the
// day d.
func hour(n int64) string {
	if n%2 == 0 {
		return day(n / 48)
	}
	return time.Unix((n-1)/2*secondsOfHour, 0).UTC().Format(ledger.HourLayout)
}

const (
	secondsOfHour = 60 * 60
	secondsOfDay  = 24 * secondsOfHour
	microsOfDay   = secondsOfDay * 1_000_000
)

// daysUp is the first day that begins at a time of a row or later.
func daysUp(micros int64) int64 {
	days := micros / microsOfDay
	if micros%microsOfDay > 0 {
		days++
	}
	return days
}
