package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// size is how many requests a page of the console lists.
const size = 100

// What the p95 of a page is to be less than: of lists of requests, and of sums of the usage page.
const (
	aimOfLists = 150 * time.Millisecond
	aimOfSums  = 100 * time.Millisecond
)

// Figure is what one page takes.
type Figure struct {
	Page          string
	P50, P95, Max time.Duration
	// Aim is what P95 is to be less than.
	Aim time.Duration
	// Rows is how many requests the page listed, or sums it had.
	Rows int
}

// Measure asks for each page so many times. now is that of Fill.
func Measure(ctx context.Context, location string, times int, now time.Time) (figures []Figure, err error) {
	db, err := store.Open(ctx, store.Config{Location: location, RelaxLedger: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	filters, err := filtersOf(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, f := range filters {
		for _, place := range []struct {
			name string
			back time.Duration
		}{{"first", 0}, {"deep", 84 * time.Hour}} {
			figure, err := f.measure(ctx, db, place.name, now.Add(-place.back), place.back > 0, times)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", figure.Page, err)
			}
			figures = append(figures, figure)
		}
	}
	for _, by := range [][]ledger.Dimension{
		{}, {ledger.ByModel}, {ledger.ByServed}, {ledger.ByKey}, {ledger.ByOwner}, {ledger.ByUpstream}, {ledger.ByProtocol}, {ledger.ByDay}, {ledger.ByHour},
		{ledger.ByKey, ledger.ByDay}, {ledger.ByKey, ledger.ByModel, ledger.ByUpstream},
	} {
		figure, err := timed("usage "+usageBy(by), aimOfSums, times, func(int) (int, error) {
			rows, err := db.Ledger().Report(ctx, ledger.Query{By: by, Since: now.AddDate(0, 0, -week), Until: now})
			return len(rows), err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", figure.Page, err)
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

// usageBy names the dimensions of a report.
func usageBy(by []ledger.Dimension) string {
	if len(by) == 0 {
		return "in all"
	}
	names := make([]string, len(by))
	for i, d := range by {
		names[i] = string(d)
	}
	return "by " + strings.Join(names, ", ")
}

// filtered is a filter of the page.
type filtered struct {
	name string
	ledger.Filter
}

// filtersOf are those of the page, each by a common and a rare value, alone and together.
func filtersOf(ctx context.Context, db *store.Store) ([]filtered, error) {
	first, err := db.Requests().Search(ctx, ledger.Filter{}, nil, 500)
	if err != nil || len(first.Entries) == 0 {
		return nil, errors.Join(err, errors.New("the ledger is empty"))
	}
	common := func(value func(*ledger.Entry) string) string {
		counts := map[string]int{}
		for _, e := range first.Entries {
			if v := value(e.Entry); v != "" {
				counts[v]++
			}
		}
		best := ""
		for v, n := range counts {
			if best == "" || cmp.Or(cmp.Compare(n, counts[best]), cmp.Compare(v, best)) > 0 {
				best = v
			}
		}
		return best
	}
	some := first.Entries[0]
	key, model := common(func(e *ledger.Entry) string { return e.KeyID }), common(func(e *ledger.Entry) string { return e.Request.Model })
	up := common(func(e *ledger.Entry) string { return e.Upstream })
	failed := []ledger.Outcome{ledger.Failed}
	return []filtered{
		{"all", ledger.Filter{}},
		{"outcome=failed", ledger.Filter{Outcomes: failed}},
		{"outcome=interrupted", ledger.Filter{Outcomes: []ledger.Outcome{ledger.Interrupted}}},
		{"outcome=cancelled", ledger.Filter{Outcomes: []ledger.Outcome{ledger.Cancelled}}},
		{"lost=1", ledger.Filter{Lost: true}},
		{"retried=1", ledger.Filter{Retried: true}},
		{"lost=1, outcome=failed", ledger.Filter{Lost: true, Outcomes: failed}},
		{"key", ledger.Filter{KeyID: key}},
		{"key, a rare one", ledger.Filter{KeyID: "nobody"}},
		{"key, outcome=failed", ledger.Filter{KeyID: key, Outcomes: failed}},
		{"key, lost=1", ledger.Filter{KeyID: key, Lost: true}},
		{"key, model, a rare one", ledger.Filter{KeyID: key, Model: "nothing"}},
		{"owner", ledger.Filter{Owner: common(func(e *ledger.Entry) string { return e.Owner })}},
		{"owner, a rare one", ledger.Filter{Owner: "nobody"}},
		{"model", ledger.Filter{Model: model}},
		{"model, a rare one", ledger.Filter{Model: "nothing"}},
		{"served model", ledger.Filter{Served: common(func(e *ledger.Entry) string { return e.Result.Model })}},
		{"upstream", ledger.Filter{Upstream: up}},
		{"upstream, outcome=failed", ledger.Filter{Upstream: up, Outcomes: failed}},
		{"route, a rare one", ledger.Filter{Route: "nothing"}},
		{"protocol", ledger.Filter{Protocol: common(func(e *ledger.Entry) string { return e.Protocol })}},
		{"upstream's protocol, a rare one", ledger.Filter{UpstreamProtocol: "nothing"}},
		{"reason, a rare one", ledger.Filter{Reason: "NOTHING"}},
		{"request", ledger.Filter{RequestID: some.ID}},
		{"request, a rare one", ledger.Filter{RequestID: "req_nobody"}},
		{"trace", ledger.Filter{TraceID: common(func(e *ledger.Entry) string { return e.TraceID })}},
		{"trace, a rare one", ledger.Filter{TraceID: "00000000000000000000000000000000"}},
	}, nil
}

// measure asks for pages of the filter one after the other, from a moment on.
func (f filtered) measure(ctx context.Context, db *store.Store, place string, from time.Time, onward bool, times int) (Figure, error) {
	var after *ledger.Position
	if onward {
		after = &ledger.Position{Start: from.UnixMicro(), Process: 1 << 62}
	}
	return timed(f.name+", "+place, aimOfLists, times, func(int) (int, error) {
		page, err := db.Requests().Search(ctx, f.Filter, after, size)
		if onward && page.Next != nil {
			after = page.Next
		}
		return len(page.Entries), err
	})
}

// timed asks so many times.
func timed(page string, aim time.Duration, times int, ask func(n int) (int, error)) (Figure, error) {
	f := Figure{Page: page, Aim: aim}
	took := make([]time.Duration, times)
	for n := range took {
		began := time.Now()
		rows, err := ask(n)
		if took[n] = time.Since(began); err != nil {
			return f, err
		}
		f.Rows = max(f.Rows, rows)
	}
	slices.Sort(took)
	f.P50, f.P95, f.Max = took[times/2], took[times*95/100], took[times-1]
	return f, nil
}
