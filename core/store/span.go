package store

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/genway/genway/core/ledger"
)

// span is a time of which a report reads one table, in microseconds since 1970: from the
// first up to the second. Those without a bound are from the least or to the largest number.
type span struct {
	level    int // of ledger_rollups, or rows
	from, to int64
}

// rows is the level of a span whose entries are read.
const rows = -1

// hourState is an hour whose roll-ups are those of its rows.
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

// goodHours are the whole hours of a time whose roll-ups are those of their rows.
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
