package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// dimensions are the columns of what a report can have rows for: in ledger, where days and
// hours are reckoned, and in ledger_days. By hour an hour is an odd number, and a day whose hours
// are not known is the even one before its hours; see hour.
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
		all = append(all, r.At(k))
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

// known refuses unknown and repeated dimensions.
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

// maxParts is how many parts a statement adds up. More are several statements, whose rows
// are added up here; it takes many hours whose rows have changed.
const maxParts = 48

// part is a statement that makes rows of a report, of one table.
type part struct {
	statement string
	args      []any
}

// reportParts are the parts of a report: what was pruned, and what the query's time is
// covered by.
func reportParts(ctx context.Context, tx transaction, query ledger.Query, sum func(string) string) ([]part, error) {
	since, until := sinceMicros(query.Since), int64(math.MaxInt64)
	if !query.Until.IsZero() {
		until = query.Until.UnixMicro()
	}
	parts := []part{partOf(query, "ledger_days", prunedDimension, sumOf(sum), " WHERE day >= ? AND day < ?", daysUp(since), daysUp(until))}
	if query.Pruned {
		return parts, nil
	}
	covered, err := spans(ctx, tx, query)
	if err != nil {
		return nil, err
	}
	counted := func(f figure) string { return f.ofEntries(sum) }
	var open []string
	var times []any
	for _, s := range covered {
		if s.level == rows {
			where, times := s.during()
			parts = append(parts, partOf(query, "ledger", entryDimension, counted, where, times...))
			continue
		}
		period := int64(microsOfDay)
		if s.level == byHour {
			period = microsOfHour
		}
		parts = append(parts, partOf(query, "ledger_rollups", rolledDimension(s.level), sumOf(sum), " WHERE level = ? AND period >= ? AND period < ?", s.level, s.from/period, s.to/period))
		// Of those that are open an index has few: it is that one which is to be used.
		open = append(open, "start_time + 0 >= ? AND start_time + 0 < ?")
		times = append(times, s.from, s.to)
	}
	for len(open) > 0 { // roll-ups count closed entries only
		n := min(len(open), maxParts)
		parts = append(parts, partOf(query, "ledger", entryDimension, counted, " WHERE outcome = 'open' AND ("+strings.Join(open[:n], " OR ")+")", times[:2*n]...))
		open, times = open[n:], times[2*n:]
	}
	return parts, nil
}

// during is the condition on the entries of a span. For all entries there is none: SQLite
// would look each up by the index of the times.
func (s span) during() (where string, args []any) {
	var conditions []string
	if s.from != math.MinInt64 {
		conditions, args = append(conditions, "start_time >= ?"), append(args, s.from)
	}
	if s.to != math.MaxInt64 {
		conditions, args = append(conditions, "start_time < ?"), append(args, s.to)
	}
	if len(conditions) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// sumOf sums the column of a figure that was counted before.
func sumOf(sum func(string) string) func(figure) string {
	return func(f figure) string { return sum(f.column) }
}

// partOf sums up some rows of a table.
func partOf(query ledger.Query, table string, dimension func(ledger.Dimension) string, sum func(figure) string, where string, args ...any) part {
	var columns, group []string
	for i, by := range query.By {
		columns, group = append(columns, dimension(by)+" AS d"+strconv.Itoa(i)), append(group, "d"+strconv.Itoa(i))
	}
	for _, s := range sums {
		columns = append(columns, sum(s)+" AS "+s.column)
	}
	opened := "0"
	if table == "ledger" {
		opened = "count(*) FILTER (WHERE outcome = 'open')"
	}
	columns = append(columns, opened+" AS opened")
	statement := "SELECT " + strings.Join(columns, ", ") + " FROM " + table + where
	if len(group) > 0 {
		statement += " GROUP BY " + strings.Join(group, ", ")
	}
	return part{statement, args}
}

// reportOf adds parts up. A sum of nothing is no row.
func reportOf(query ledger.Query, sum func(string) string, parts []part) part {
	var total, group, from []string
	var args []any
	for _, s := range sums {
		total = append(total, sum(s.column))
	}
	total = append(total, sum("opened"))
	for i := range query.By {
		group = append(group, "d"+strconv.Itoa(i))
	}
	for _, p := range parts {
		from, args = append(from, p.statement), append(args, p.args...)
	}
	statement := "SELECT " + strings.Join(append(total, group...), ", ") + " FROM (" + strings.Join(from, " UNION ALL ") + ") AS parts WHERE requests > 0"
	if len(group) > 0 {
		statement += " GROUP BY " + strings.Join(group, ", ")
	}
	statement += " HAVING count(*) > 0"
	if len(group) > 0 {
		statement += " ORDER BY " + strings.Join(group, ", ")
	}
	return part{statement, args}
}

// firstEventSums are the figures of the times to first events, in the order of firstEventsOf.
func firstEventSums() []figure {
	all := []figure{
		{"first_event_known", "count(*)"},
		{"first_event", ""},
	}
	above := int64(0)
	for i := range ledger.FirstEventBuckets {
		counted := fmt.Sprintf("count(*) FILTER (WHERE first_event > %d)", above)
		if bound, ok := ledger.FirstEventBound(i); ok {
			counted = fmt.Sprintf("count(*) FILTER (WHERE first_event > %d AND first_event <= %d)", above, bound.Microseconds())
			above = bound.Microseconds()
		}
		all = append(all, figure{fmt.Sprint("first_event_", i), counted})
	}
	return all
}

// firstEventsOf are the figures of a row's times, in the order of firstEventSums.
func firstEventsOf(f *ledger.FirstEvents) []any {
	all := []any{&f.Known, &f.Sum}
	for i := range f.Buckets {
		all = append(all, &f.Buckets[i])
	}
	return all
}

// ledgerView is a ledger.View: a transaction that only reads.
type ledgerView struct{ tx transaction }

// View runs do on one state of the database.
func (s ledgerStore) View(ctx context.Context, do func(ledger.View) error) error {
	return s.view(ctx, func(tx transaction) error { return do(ledgerView{tx}) })
}

// view is the database's View. A partition that were dropped meanwhile would be missing from its state, since
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

// rolledDimensions are the dimensions that ledger_rollups has columns for.
var rolledDimensions = []ledger.Dimension{ledger.ByKey, ledger.ByOwner, ledger.ByProtocol, ledger.ByModel, ledger.ByUpstream, ledger.ByServed}

// Rolled reads the roll-ups of a day's hours that match its rows, and the day's
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

// rollups reads the roll-ups of a period.
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
