package store

import (
	"cmp"
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
	// scanned bounds the entries that one page of a filter reads: it is what a page may take. Those of an index
	// that are neighbours in time are neighbours in the table, too.
	scanned = 20_000
	// scattered is that bound where each lies elsewhere in the table: the rows of a key, and of ledger_faults.
	scattered = 5_000
	// nearby bounds the entries that are looked through for neighbours.
	nearby = 20_000
)

// search is the statements of a page.
type search struct {
	by accessPath
	// where is what an index bounds: the times, the position after which the page begins, and what the index has.
	where []string
	args  []any
	// conditions are the filter's; covered is set if the index has all columns that they read.
	conditions []string
	values     []any
	covered    bool
	// since is the least time, which is the argument sinceAt; order is the page's.
	since   int64
	sinceAt int
	order   string
}

// searchOf returns the statements of a page. With rows, those by key compare rows of both columns of their index.
func searchOf(filter *ledger.Filter, after *ledger.Position, rows bool) search {
	s := search{by: pathOf(filter), since: math.MinInt64, order: "start_time DESC, process DESC, number DESC"}
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
	key := text(filter.KeyID)
	keyed := s.by.index == byKey.index
	if rows = rows && keyed; rows {
		s.where, s.args = []string{"(key_id, start_time) >= (?, ?)", "(key_id, start_time) < (?, ?)", "key_id <> ''"}, []any{key, s.since, key, until}
		s.sinceAt, s.order = 1, "key_id DESC, "+s.order
	} else {
		// One bound on each side: of several SQLite uses the first alone.
		s.where, s.args = []string{"start_time >= ?", "start_time < ?"}, []any{s.since, until}
	}
	if after != nil {
		s.where = append(s.where, "(start_time < ? OR process < ? OR process = ? AND number < ?)")
		s.args = append(s.args, after.Start, after.Process, after.Process, after.Number)
	}
	if s.by.only != "" && !rows {
		s.where = append(s.where, s.by.only)
		if keyed {
			s.args = append(s.args, key)
		}
	}
	s.conditions, s.values, s.covered = condition(filter, s.by)
	if rows && !s.covered {
		// A value that nothing has must not look rare to the planner: it would read and sort all rows of the key,
		// since it does not know how few entries the page may read.
		for i, c := range s.conditions {
			s.conditions[i] = strings.Replace(c, " = ?", " || '' = ?", 1)
		}
	}
	return s
}

// bound is the statement that finds how far the page may read; empty where an index has just what the filter
// means, in the order of the times.
func (s search) bound() (statement string, args []any) {
	rows := s.sinceAt > 0 // whose number the planner cannot estimate: it sorts all that a page may read
	if s.covered && s.by.index != byFaults.index && !rows {
		return "", nil
	}
	most := scanned
	if rows || !s.covered && s.by.index != byTime.index {
		most = scattered
	}
	return `SELECT start_time FROM ledger WHERE ` + strings.Join(s.where, " AND ") + ` ORDER BY ` + strings.TrimSuffix(s.order, ", process DESC, number DESC") + ` LIMIT 1 OFFSET ?`, append(slices.Clip(s.args), most)
}

// page is the end of the statement that reads size entries, none of which began before from.
func (s search) page(from int64, size int) (rest string, args []any) {
	args = slices.Concat(s.args, s.values, []any{size})
	args[s.sinceAt] = max(s.since, from)
	return " WHERE " + strings.Join(slices.Concat(s.where, s.conditions), " AND ") + " ORDER BY " + s.order + " LIMIT ?", args
}

// Search lists entries by two statements at most: one finds how far a page may read, the other
// reads.
func (s ledgerStore) Search(ctx context.Context, filter ledger.Filter, after *ledger.Position, size int) (ledger.Page, error) {
	asked, from := searchOf(&filter, after, s.db.rowValues), int64(math.MinInt64)
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

// ofFaults is the condition of the index ledger_faults, word for word, by which the databases know that it has all
// that a search means.
const ofFaults = "(attempts > 1 OR outcome NOT IN ('ok', 'open') OR kind <> '' OR reason <> '')"

// condition is the filter as conditions, without its times and what the path has of it, and whether the index has
// all that they are about.
func condition(f *ledger.Filter, by accessPath) (conditions []string, args []any, covered bool) {
	covered = true
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	for _, equal := range [...]struct{ column, value string }{
		{"key_id", f.KeyID}, {"owner", f.Owner}, {"protocol", f.Protocol}, {"upstream_protocol", f.UpstreamProtocol}, {"model", f.Model},
		{"served_model", f.Served}, {"route", f.Route}, {"upstream", f.Upstream}, {"request_id", f.RequestID}, {"trace_id", f.TraceID},
		{"kind", f.Kind}, {"reason", f.Reason},
	} {
		if equal.value == "" {
			continue
		}
		covered = covered && slices.Contains(by.columns, equal.column)
		if equal.column == "key_id" && by.index != byTime.index {
			if by.index == byFaults.index {
				add("key_id = ?", text(equal.value)) // without what the index of keys is known by
			}
			continue
		}
		add(equal.column+" = ?", text(equal.value))
	}
	if len(f.Outcomes) > 0 {
		var values []any
		for _, o := range f.Outcomes {
			values = append(values, string(o))
		}
		add("outcome IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	covered = covered && (len(f.Outcomes) == 0 || slices.Contains(by.columns, "outcome"))
	if f.WithoutKind {
		covered = covered && slices.Contains(by.columns, "kind")
		add("kind = ''")
	}
	if f.Lost {
		covered = false
		add("losses <> ''")
	}
	if f.Retried {
		covered = covered && slices.Contains(by.columns, "attempts")
		add("attempts > 1")
	}
	return conditions, args, covered
}

// accessPath is the index by which a page is read, in the order of the times.
type accessPath struct {
	index string
	// only is the condition that the index has; empty for none.
	only string
	// columns are those that the index has, beside the times.
	columns []string
}

var (
	byTime   = accessPath{index: "ledger_start_time"}
	byKey    = accessPath{index: "ledger_key_time", only: "key_id = ? AND key_id <> ''", columns: []string{"key_id"}}
	byFaults = accessPath{index: "ledger_faults", only: ofFaults, columns: []string{"outcome", "attempts", "key_id", "upstream", "kind", "reason"}}
)

// pathOf chooses the index that has the fewest entries beside those that the filter means.
func pathOf(f *ledger.Filter) accessPath {
	fine := func(o ledger.Outcome) bool { return o == ledger.OK || o == ledger.Open }
	switch {
	case f.Retried, f.Kind != "", f.Reason != "", len(f.Outcomes) > 0 && !slices.ContainsFunc(f.Outcomes, fine):
		return byFaults
	case f.KeyID != "":
		return byKey
	}
	return byTime
}

// failuresOf is the statement that counts the entries of ledger_faults in a time, the newest at most and one
// more, by upstream, kind and outcome. The index has all that it reads.
func failuresOf(since, until time.Time, most int) (statement string, args []any) {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !since.IsZero() {
		from = sinceMicros(since)
	}
	if !until.IsZero() {
		to = until.UnixMicro()
	}
	return `SELECT upstream, kind, outcome, count(*), min(start_time) FROM (SELECT upstream, kind, outcome, start_time FROM ledger WHERE start_time >= ? AND start_time < ? AND ` + ofFaults +
		` ORDER BY start_time DESC, process DESC, number DESC LIMIT ?) AS latest GROUP BY upstream, kind, outcome`, []any{from, to, most + 1}
}

// Failures counts what failed by one statement.
func (s ledgerStore) Failures(ctx context.Context, since, until time.Time) (ledger.Failures, error) {
	return s.failures(ctx, since, until, scanned)
}

// failures counts most entries and one more, by which it knows that these are not all.
func (s ledgerStore) failures(ctx context.Context, since, until time.Time, most int) (ledger.Failures, error) {
	statement, args := failuresOf(since, until, most)
	rows, err := s.db.query(ctx, statement, args...)
	if err != nil {
		return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
	}
	defer rows.Close()
	var failures ledger.Failures
	read, earliest := int64(0), int64(math.MaxInt64)
	for rows.Next() {
		var c ledger.FailureCount
		var outcome string
		var began int64
		if err := rows.Scan(&c.Upstream, &c.Kind, &outcome, &c.Requests, &began); err != nil {
			return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
		}
		read, earliest = read+c.Requests, min(earliest, began)
		if outcome == string(ledger.Failed) {
			failures.Counts = append(failures.Counts, c)
		}
	}
	if err := rows.Err(); err != nil {
		return ledger.Failures{}, fmt.Errorf("count failures: %w", err)
	}
	if read > int64(most) {
		failures.From = time.UnixMicro(earliest).UTC()
	}
	slices.SortFunc(failures.Counts, func(a, b ledger.FailureCount) int {
		return cmp.Or(strings.Compare(a.Upstream, b.Upstream), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Kind, b.Kind))
	})
	return failures, nil
}
