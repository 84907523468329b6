package store

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/genway/genway/core/ledger"
)

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
	for len(open) > 0 { // roll-ups are of what is closed
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
