package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// table is rows of a report by their values.
type table map[string]ledger.Row

// add adds a row to that of its values.
func (t table) add(r ledger.Row) {
	key := strings.Join(r.Values, "\x00") // no value has one
	sum := t[key]
	sum.Values = r.Values
	sum.Add(r)
	t[key] = sum
}

// by adds up the rows of some of the dimensions that a table's rows are of.
func (t table) by(of, dimensions []ledger.Dimension) table {
	var at []int
	for _, d := range dimensions {
		at = append(at, slices.Index(of, d))
	}
	sums := table{}
	for _, r := range t {
		values := make([]string, len(at))
		for i, from := range at {
			values[i] = r.Values[from]
		}
		r.Values = values
		sums.add(r)
	}
	return sums
}

// compare reports where two tables of one thing differ. Rows of nothing do not count.
func (c *Checked) compare(what string, entries, sums table) {
	keys := maps.Clone(entries)
	maps.Copy(keys, sums)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, b := entries[key], sums[key]
		if !same(a, b) {
			c.sumf("%s, of %q: the entries make %+v, the sums are %+v", what, strings.Split(key, "\x00"), withoutValues(a), withoutValues(b))
		}
	}
}

// withoutValues is a row without its values.
func withoutValues(r ledger.Row) ledger.Row {
	r.Values = nil
	return r
}

// piece checks the entries of a day, or of its beginning.
func (c *Checked) piece(ctx context.Context, v ledger.View, prices Prices, day, until time.Time) error {
	closed := map[time.Time]table{} // by hour
	all := table{}                  // with those that are open, and what was pruned
	for e, err := range v.Walk(ctx, day, until) {
		if err != nil {
			return err
		}
		c.Entries++
		c.entry(e, prices)
		row := ledger.RowOf(e)
		for _, d := range ledger.Dimensions {
			row.Values = append(row.Values, d.Of(e))
		}
		all.add(row)
		if e.Outcome != ledger.Open {
			hour := e.Start.Truncate(time.Hour)
			if closed[hour] == nil {
				closed[hour] = table{}
			}
			closed[hour].add(row)
		}
	}
	if err := c.rolled(ctx, v, day, until, closed); err != nil {
		return err
	}
	query := ledger.Query{By: ledger.Dimensions, Since: day, Until: until}
	pruned := query
	pruned.Pruned = true
	rows, err := v.Report(ctx, pruned)
	if err != nil {
		return err
	}
	for _, r := range rows {
		c.Pruned += r.Requests
		all.add(r)
	}
	// What is by neither key nor owner is made of other sums.
	for _, by := range [][]ledger.Dimension{ledger.Dimensions, {ledger.ByProtocol, ledger.ByModel, ledger.ByUpstream, ledger.ByServed}} {
		query.By = by
		rows, err := v.Report(ctx, query)
		if err != nil {
			return err
		}
		reported := table{}
		for _, r := range rows {
			reported.add(r)
		}
		c.compare("the report of "+day.Format(time.DateOnly), all.by(ledger.Dimensions, by), reported)
	}
	return nil
}

// rolled compares the sums that reports are made of with the entries.
func (c *Checked) rolled(ctx context.Context, v ledger.View, day, until time.Time, closed map[time.Time]table) error {
	rolled, err := v.Rolled(ctx, day)
	if err != nil {
		return err
	}
	for _, r := range rolled {
		if r.Start.Add(r.Length).After(until) {
			continue
		}
		what, entries, sums := "the sums of "+r.Start.Format(time.RFC3339), closed[r.Start], table{}
		if r.Length == time.Hour {
			c.Hours++
		} else {
			what, entries = "the sums of the day "+r.Start.Format(time.DateOnly), table{}
			for _, hour := range closed {
				for _, row := range hour {
					entries.add(row)
				}
			}
		}
		for _, row := range r.Rows {
			sums.add(row)
		}
		c.compare(what, entries.by(ledger.Dimensions, r.By), sums)
	}
	return nil
}

func same(a, b ledger.Row) bool {
	return a.Requests == b.Requests && a.OK == b.OK && a.Failed == b.Failed && a.Cancelled == b.Cancelled && a.Interrupted == b.Interrupted &&
		a.Open == b.Open && a.Usage == b.Usage && a.Cost == b.Cost && a.Unpriced == b.Unpriced && a.Estimated == b.Estimated && a.Rejected == b.Rejected &&
		sameFirstEvents(a, b)
}

// sameFirstEvents compares times to first events where both rows have those of all their requests:
// sums that an older version made have none.
func sameFirstEvents(a, b ledger.Row) bool {
	if a.FirstEvents.Known > a.Requests || b.FirstEvents.Known > b.Requests {
		return false
	}
	return a.FirstEvents.Known < a.Requests || b.FirstEvents.Known < b.Requests || a.FirstEvents == b.FirstEvents
}
