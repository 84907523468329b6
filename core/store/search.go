package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

var _ ledger.Searcher = ledgerStore{}

const (
	// scanned bounds the entries that one page of a filter reads: it is what a page may take.
	scanned = 20_000
	// nearby bounds the entries that are looked through for neighbours.
	nearby = 20_000
)

// condition is the filter as a condition, without its times.
func condition(f *ledger.Filter) (conditions []string, args []any) {
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	for _, equal := range [...]struct{ column, value string }{
		{"key_id", f.KeyID}, {"owner", f.Owner}, {"protocol", f.Protocol}, {"upstream_protocol", f.UpstreamProtocol}, {"model", f.Model},
		{"served_model", f.Served}, {"route", f.Route}, {"upstream", f.Upstream}, {"request_id", f.RequestID}, {"trace_id", f.TraceID},
		{"kind", f.Kind}, {"reason", f.Reason},
	} {
		if equal.value != "" {
			add(equal.column+" = ? AND "+equal.column+" <> ''", text(equal.value)) // as the index of keys has it
		}
	}
	if len(f.Outcomes) > 0 {
		var values []any
		for _, o := range f.Outcomes {
			values = append(values, string(o))
		}
		add("outcome IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	if f.Lost {
		add("losses <> ''")
	}
	if f.Retried {
		add("attempts > 1")
	}
	return conditions, args
}

// search is the statements of a page.
type search struct {
	// where is what an index bounds: the times, the position behind which the page begins, and the key.
	where []string
	args  []any
	// conditions are those of the filter.
	conditions []string
	values     []any
	key        string
	since      int64
}

func searchOf(filter *ledger.Filter, after *ledger.Position) search {
	s := search{since: math.MinInt64, key: filter.KeyID}
	until := int64(math.MaxInt64)
	if !filter.Since.IsZero() {
		s.since = sinceMicros(filter.Since)
	}
	if !filter.Until.IsZero() {
		until = filter.Until.UnixMicro()
	}
	if after != nil && after.Start < until {
		until = after.Start + 1
	}
	// One bound on each side: of several SQLite uses the first alone.
	s.where, s.args = []string{"start_time >= ?", "start_time < ?"}, []any{s.since, until}
	if after != nil {
		s.where = append(s.where, "(start_time < ? OR process < ? OR process = ? AND number < ?)")
		s.args = append(s.args, after.Start, after.Process, after.Process, after.Number)
	}
	s.conditions, s.values = condition(filter)
	return s
}

// bound is the statement that finds how far the page may read; empty where an index has just what the filter
// means, in the order of the times.
func (s search) bound() (statement string, args []any) {
	rest, where, args := len(s.conditions), s.where, s.args
	if s.key != "" {
		rest--
		where, args = append(slices.Clip(where), "key_id = ? AND key_id <> ''"), append(slices.Clip(args), text(s.key))
	}
	if rest == 0 {
		return "", nil
	}
	return `SELECT start_time FROM ledger WHERE ` + strings.Join(where, " AND ") + ` ORDER BY start_time DESC LIMIT 1 OFFSET ?`, append(slices.Clip(args), scanned)
}

// page is the end of the statement that reads size entries, none of which began before from.
func (s search) page(from int64, size int) (rest string, args []any) {
	args = slices.Concat(s.args, s.values, []any{size})
	args[0] = max(s.since, from)
	return " WHERE " + strings.Join(slices.Concat(s.where, s.conditions), " AND ") + " ORDER BY start_time DESC, process DESC, number DESC LIMIT ?", args
}

// Search lists entries by two statements at most: one finds how far a page may read, the other
// reads.
func (s ledgerStore) Search(ctx context.Context, filter ledger.Filter, after *ledger.Position, size int) (ledger.Page, error) {
	asked, from := searchOf(&filter, after), int64(math.MinInt64)
	if statement, args := asked.bound(); statement != "" {
		if err := s.db.row(ctx, statement, args...).Scan(&from); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return ledger.Page{}, fmt.Errorf("bound entries: %w", err)
		}
	}
	rest, args := asked.page(from, size+1)
	found, err := s.located(ctx, s.db.query, rest, args...)
	if err != nil {
		return ledger.Page{}, err
	}
	page := ledger.Page{Entries: found}
	switch {
	case len(found) > size:
		page.Entries = found[:size]
		last := found[size-1]
		page.Next = &ledger.Position{Start: last.Start.UnixMicro(), Process: last.Process, Number: last.Number}
	case from != math.MinInt64:
		// All that began at that moment or later was read.
		page.Next = &ledger.Position{Start: from, Process: math.MinInt64, Number: math.MinInt64}
	}
	return page, nil
}

// Find reads one entry.
func (s ledgerStore) Find(ctx context.Context, process, number int64) (*ledger.Located, error) {
	found, err := s.located(ctx, s.db.query, " WHERE process = ? AND number = ?", process, number)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Neighbours looks through what began around a moment, by the index of the times.
func (s ledgerStore) Neighbours(ctx context.Context, trace string, at time.Time, size int) ([]ledger.Located, error) {
	if trace == "" {
		return nil, nil
	}
	near := at.UnixMicro()
	const reach = int64(time.Hour / time.Microsecond)
	bound := func(order string) string {
		return `COALESCE((SELECT start_time FROM ledger WHERE start_time >= ? AND start_time <= ? ORDER BY start_time ` + order + ` LIMIT 1 OFFSET ?), ?)`
	}
	return s.located(ctx, s.db.query, ` WHERE start_time >= `+bound("DESC")+` AND start_time <= `+bound("ASC")+
		` AND trace_id = ? ORDER BY start_time, process, number LIMIT ?`, near-reach, near, nearby, near-reach, near, near+reach, nearby, near+reach, text(trace), size)
}

// located reads the entries that the rest of a statement says, with their processes.
func (s ledgerStore) located(ctx context.Context, query func(context.Context, string, ...any) (*result, error), rest string, args ...any) ([]ledger.Located, error) {
	rows, err := query(ctx, `SELECT `+columnNames+`, process FROM ledger`+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("select entries: %w", err)
	}
	defer rows.Close()
	var found []ledger.Located
	for rows.Next() {
		var process int64
		e, err := scanEntry(rows, &process)
		if err != nil {
			return nil, fmt.Errorf("scan entry: %w", err)
		}
		found = append(found, ledger.Located{Process: process, Entry: e})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select entries: %w", err)
	}
	return found, nil
}
