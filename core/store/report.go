package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// dimensions are the columns of what a report can have rows for: in ledger, where the
// day is reckoned, and in ledger_days.
var dimensions = map[ledger.Dimension]struct{ entry, pruned string }{
	ledger.ByKey:      {"key_id", "key_id"},
	ledger.ByOwner:    {"owner", "owner"},
	ledger.ByModel:    {"model", "model"},
	ledger.ByDay:      {"start_time / 86400000000", "day"}, // days since 1970; see day
	ledger.ByProtocol: {"protocol", "protocol"},
	ledger.ByUpstream: {"upstream", "upstream"},
	ledger.ByServed:   {"served_model", "served_model"},
}

// figure is one of a report: its column in ledger_days, and how it is counted in entries,
// of which it is the sum of the same column unless this says otherwise.
type figure struct{ column, counted string }

// sums are the figures of a report, in the order of sumsOf. Open entries are never pruned.
var sums = []figure{
	{"requests", "count(*)"},
	{"ok", "count(*) FILTER (WHERE outcome = 'ok')"},
	{"failed", "count(*) FILTER (WHERE outcome = 'failed')"},
	{"cancelled", "count(*) FILTER (WHERE outcome = 'cancelled')"},
	{"interrupted", "count(*) FILTER (WHERE outcome = 'interrupted')"},
	{"input_tokens", ""},
	{"output_tokens", ""},
	{"cache_read_tokens", ""},
	{"cache_write_tokens", ""},
	{"cache_write_1h_tokens", ""},
	{"input_image_tokens", ""},
	{"input_audio_tokens", ""},
	{"thinking_tokens", ""},
	{"output_image_tokens", ""},
	{"output_audio_tokens", ""},
	{"images", ""},
	{"cost", ""},
	{"unpriced", "count(*) FILTER (WHERE price = '' AND input_tokens + output_tokens + images > 0)"},
	{"estimated", "count(*) FILTER (WHERE usage_source <> '')"},
	{"rejected", "count(*) FILTER (WHERE usage_source = 'rejected')"},
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
	return []any{
		&r.Requests, &r.OK, &r.Failed, &r.Cancelled, &r.Interrupted,
		&r.Input, &r.Output, &r.CacheRead, &r.CacheWrite, &r.CacheWrite1h,
		&r.InputImage, &r.InputAudio, &r.Thinking, &r.OutputImage, &r.OutputAudio, &r.Images,
		&r.Cost, &r.Unpriced, &r.Estimated, &r.Rejected,
	}
}

// Report sums the entries up, and what was pruned. The sums saturate, for which they are
// taken once more where they have to: plain ones are quicker.
func (s ledgerStore) Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error) {
	report, err := s.report(ctx, query, plainSum)
	if err != nil && s.db.overflow(err) {
		report, err = s.report(ctx, query, s.db.sum)
	}
	return report, err
}

func (s ledgerStore) report(ctx context.Context, query ledger.Query, sum func(column string) string) ([]ledger.Row, error) {
	statement, args, err := reportStatement(query, sum)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	rows, err := s.db.query(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	defer rows.Close()
	byDay := slices.Index(query.By, ledger.ByDay)
	var report []ledger.Row
	for rows.Next() {
		r := ledger.Row{Values: make([]string, len(query.By))}
		figures := append(sumsOf(&r), &r.Open)
		for i := range r.Values {
			figures = append(figures, &r.Values[i])
		}
		if err := rows.Scan(figures...); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if byDay >= 0 {
			if r.Values[byDay], err = day(r.Values[byDay]); err != nil {
				return nil, fmt.Errorf("report: %w", err)
			}
		}
		report = append(report, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return report, nil
}

// reportStatement adds up the sums of the entries and those of ledger_days, where the
// query wants both.
func reportStatement(query ledger.Query, sum func(column string) string) (statement string, args []any, err error) {
	var entry, pruned, group []string
	for i, by := range query.By {
		column, ok := dimensions[by]
		if !ok || slices.Contains(query.By[:i], by) {
			return "", nil, fmt.Errorf("no dimension %q, or twice", by)
		}
		name := " AS d" + strconv.Itoa(i)
		entry, pruned, group = append(entry, column.entry+name), append(pruned, column.pruned+name), append(group, "d"+strconv.Itoa(i))
	}
	var total []string
	for _, s := range sums {
		entry, pruned = append(entry, s.ofEntries(sum)+" AS "+s.column), append(pruned, sum(s.column)+" AS "+s.column)
		total = append(total, sum(s.column))
	}
	entry, pruned = append(entry, "count(*) FILTER (WHERE outcome = 'open') AS opened"), append(pruned, "0 AS opened")
	total = append(append(total, sum("opened")), group...)
	by := ""
	if len(group) > 0 {
		by = " GROUP BY " + strings.Join(group, ", ")
	}
	since, until := sinceMicros(query.Since), int64(math.MaxInt64)
	if !query.Until.IsZero() {
		until = query.Until.UnixMicro()
	}
	from := "SELECT " + strings.Join(pruned, ", ") + " FROM ledger_days WHERE day >= ? AND day < ?" + by
	args = []any{daysUp(since), daysUp(until)}
	if !query.Pruned {
		where, times := during(query.Since, query.Until)
		from += " UNION ALL SELECT " + strings.Join(entry, ", ") + " FROM ledger" + where + by
		args = append(args, times...)
	}
	// A sum of nothing is no row.
	statement = "SELECT " + strings.Join(total, ", ") + " FROM (" + from + ") AS parts WHERE requests > 0" + by + " HAVING count(*) > 0"
	if by != "" {
		statement += " ORDER BY " + strings.Join(group, ", ")
	}
	return statement, args, nil
}

// day writes a number of days since 1970 as a date.
func day(number string) (string, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", err
	}
	return time.Unix(n*secondsOfDay, 0).UTC().Format(time.DateOnly), nil
}

const (
	secondsOfDay = 24 * 60 * 60
	microsOfDay  = secondsOfDay * 1_000_000
)

// daysUp is the first day that begins at a time of a row or later.
func daysUp(micros int64) int64 {
	days := micros / microsOfDay
	if micros%microsOfDay > 0 {
		days++
	}
	return days
}
