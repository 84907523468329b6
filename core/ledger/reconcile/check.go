package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// Prices finds the price that an entry was charged by, as *price.Catalogue does.
type Prices interface {
	ByID(id string) (price.Price, bool)
}

// Checking configures a check.
type Checking struct {
	Store ledger.Store
	// Prices are what costs are reckoned by once more; nil leaves that out.
	Prices Prices
	Now    time.Time
	// From, unless nil, is what a check that was broken off had found, which goes on there.
	From *Checked
	// After, unless nil, is called after each day with what has been found until then. Its
	// error ends the check.
	After func(*Checked) error
}

// Checked is what Check has found.
type Checked struct {
	// First is the first day that has anything. Until is what the requests began before that
	// are looked at, Next where the check goes on: Until at its end.
	First, Next, Until time.Time
	Entries, Pruned    int64
	// Hours is how many hours have sums that reports are made of, which were compared with
	// their entries.
	Hours int64
	// Recomputed is how many charges were reckoned again; Unknown how many have a price
	// that the catalogue no longer has.
	Recomputed, Unknown int64
	// Left is how many requests of dead processes are still open.
	Left int64
	// Wrong are entries that contradict themselves or their price, Sums what does not
	// add up. Both name at most a hundred.
	Wrong, Sums []string
}

const (
	maxReported = 100
	// A process without a heartbeat for so long is dead, and others had time
	// to close what it left open.
	deadFor = time.Minute
	// piece is what is looked at in one state of the store.
	piece = 24 * time.Hour
)

// Good reports whether nothing is wrong.
func (c *Checked) Good() bool { return c.Left == 0 && len(c.Wrong) == 0 && len(c.Sums) == 0 }

func (c *Checked) wrongf(e *ledger.Entry, format string, args ...any) {
	if len(c.Wrong) < maxReported {
		c.Wrong = append(c.Wrong, fmt.Sprintf("request %s of %s: ", e.ID, e.Start.Format(time.RFC3339))+fmt.Sprintf(format, args...))
	}
}

func (c *Checked) sumf(format string, args ...any) {
	if len(c.Sums) < maxReported {
		c.Sums = append(c.Sums, fmt.Sprintf(format, args...))
	}
}

// Check holds a ledger against itself, a day at a time, each in one state of the store: each
// entry makes sense, costs are what their prices make of the usage, and the sums that reports
// are made of, and the reports, match the entries and what was pruned. Then no
// request of a dead process is open, none has several rows, and what budgets go on from is what requests cost.
func Check(ctx context.Context, what Checking) (*Checked, error) {
	c := what.From
	if c == nil {
		c = &Checked{Until: what.Now.UTC()}
	}
	for c.Next.Before(c.Until) {
		err := what.Store.View(ctx, func(v ledger.View) error {
			next, err := v.Next(ctx, c.Next)
			if err != nil || next.IsZero() || !next.Before(c.Until) {
				c.Next = c.Until
				return err
			}
			day := next.Truncate(piece)
			if c.First.IsZero() {
				c.First = day
			}
			if c.Next = day.Add(piece); c.Next.After(c.Until) {
				c.Next = c.Until
			}
			return c.piece(ctx, v, what.Prices, day, c.Next)
		})
		if err == nil && what.After != nil {
			err = what.After(c)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if c.Left, err = what.Store.Left(ctx, what.Now.Add(-deadFor)); err != nil {
		return nil, err
	}
	if err := c.repeated(ctx, what.Store); err != nil {
		return nil, err
	}
	err = c.spent(ctx, what.Store, what.Now)
	return c, err
}

// repeated looks for requests that have several rows, which an index of a store without partitions
// makes impossible.
func (c *Checked) repeated(ctx context.Context, store ledger.Store) error {
	partitioned, ok := store.(ledger.Partitioner)
	if !ok {
		return nil
	}
	twice, err := partitioned.Repeated(ctx, maxReported)
	for _, key := range twice {
		c.sumf("request %d of process %d has several rows", key.Number, key.Process)
	}
	return err
}

// spent compares what keys and owners have spent in the month under way, which budgets go on
// from, with what their requests cost. It grows meanwhile, and is looked at twice.
func (c *Checked) spent(ctx context.Context, store ledger.Store, now time.Time) error {
	now = now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	type spender struct{ key, owner string }
	look := func() (map[spender]int64, error) {
		spends, err := store.Spent(ctx, month, "", "")
		all := make(map[spender]int64, len(spends))
		for _, s := range spends {
			by := spender{s.KeyID, s.Owner}
			all[by] = amount.Sum(all[by], s.Cost)
		}
		return all, err
	}
	least, err := look()
	if err != nil {
		return err
	}
	rows, err := store.Report(ctx, ledger.Query{By: []ledger.Dimension{ledger.ByKey, ledger.ByOwner}, Since: month})
	if err != nil {
		return err
	}
	most, err := look()
	if err != nil {
		return err
	}
	for _, r := range rows {
		s := spender{r.Values[0], r.Values[1]}
		if r.Cost < least[s] || r.Cost > most[s] {
			c.Sums = append(c.Sums, fmt.Sprintf("budgets of key %q and owner %q go on from %d nano-dollars since %s, their requests cost %d",
				s.key, s.owner, most[s], month.Format(time.DateOnly), r.Cost))
		}
	}
	return nil
}

// entry checks one.
func (c *Checked) entry(e *ledger.Entry, prices Prices) {
	if err := e.Usage.Check(); err != nil {
		c.wrongf(e, "%v", err)
	}
	if e.Cost < 0 {
		c.wrongf(e, "its cost is below 0")
	}
	charges, err := ledger.ParseCharges(e)
	if err != nil {
		c.wrongf(e, "%v", err)
		return
	}
	var sum ledger.Result
	sum.Charge(charges)
	if e.Charges != "" && (sum.Usage != e.Usage || sum.Cost != e.Cost || sum.Price != e.Price || sum.Unpriced != e.Unpriced) {
		c.wrongf(e, "its charges add up to %d nano-dollars by %q, unpriced %t, of %+v; it has %d by %q, unpriced %t, of %+v",
			sum.Cost, sum.Price, sum.Unpriced, sum.Usage, e.Cost, e.Price, e.Unpriced, e.Usage)
	}
	for i := range charges {
		c.charge(e, &charges[i], prices)
	}
}

// charge checks one charge of an entry.
func (c *Checked) charge(e *ledger.Entry, of *ledger.Charge, prices Prices) {
	if of.Price == "" && of.Cost != 0 {
		c.wrongf(e, "it costs %d nano-dollars by no price", of.Cost)
	}
	if prices == nil || of.Price == "" {
		return
	}
	p, ok := prices.ByID(of.Price)
	if !ok {
		c.Unknown++
		return
	}
	c.Recomputed++
	again := *of
	again.Unpriced = false
	if p.Charge(&again); again.Cost != of.Cost || again.Unpriced && !of.Unpriced {
		c.wrongf(e, "%s costs %d nano-dollars, by %s it would be %d, unpriced %t", cmp.Or(of.Kind, "it"), of.Cost, of.Price, again.Cost, again.Unpriced)
	}
}

// table is rows of a report by their values.
type table map[string]ledger.Row

// add adds a row to the sum of its values.
func (t table) add(r ledger.Row) {
	key := strings.Join(r.Values, "\x00") // no value has one
	sum := t[key]
	sum.Values = r.Values
	sum.Add(r)
	t[key] = sum
}

// by adds up a table's rows by some of their dimensions.
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

// sameFirstEvents compares times to first events where both rows have the times of all their requests:
// sums that an older version made have none.
func sameFirstEvents(a, b ledger.Row) bool {
	if a.FirstEvents.Known > a.Requests || b.FirstEvents.Known > b.Requests {
		return false
	}
	return a.FirstEvents.Known < a.Requests || b.FirstEvents.Known < b.Requests || a.FirstEvents == b.FirstEvents
}
