package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// Prices finds the price that an entry was charged by, as *price.Catalogue does.
type Prices interface {
	ByID(id string) (price.Price, bool)
}

// Checked is what Check has found.
type Checked struct {
	// Until is what the requests began before that were looked at.
	Until           time.Time
	Entries, Pruned int64
	// Recomputed is how many costs were reckoned again; Unknown how many have a price
	// that the catalogue no longer has. Several is how many were not, since their attempts
	// may have had a price each, of which the entry has the last.
	Recomputed, Unknown, Several int64
	// Left is how many requests of dead processes are still open.
	Left int64
	// Wrong are entries that contradict themselves or their price, Sums what does not
	// add up. Both are of at most a hundred.
	Wrong, Sums []string
}

const (
	mostTold = 100
	// A process that has not said that it lives for so long is dead, and others had time
	// to close what it left open.
	deadFor = time.Minute
	// What is older than that is hardly ever in flight.
	young = 10 * time.Minute
	// tries is how often the sums are taken, as requests end in between.
	tries = 5
)

// Good reports whether nothing is wrong.
func (c *Checked) Good() bool { return c.Left == 0 && len(c.Wrong) == 0 && len(c.Sums) == 0 }

func (c *Checked) wrongf(e *ledger.Entry, format string, args ...any) {
	if len(c.Wrong) < mostTold {
		c.Wrong = append(c.Wrong, fmt.Sprintf("request %s of %s: ", e.ID, e.Start.Format(time.RFC3339))+fmt.Sprintf(format, args...))
	}
}

// Check holds a ledger against itself: no request of a dead process is open, each entry
// makes sense, sums by any dimension are those of the entries and of what was pruned, and
// so is what budgets go on from, and costs are what their prices make of the usage. Without prices the last is left
// out. If requests end meanwhile, it looks again, at those that began ten minutes before
// now.
func Check(ctx context.Context, store ledger.Store, prices Prices, now time.Time) (*Checked, error) {
	until := now
	for range tries {
		query := ledger.Query{Until: until}
		before, err := total(ctx, store, query)
		if err != nil {
			return nil, err
		}
		c := &Checked{Until: until}
		if c.Left, err = store.Left(ctx, now.Add(-deadFor)); err != nil {
			return nil, err
		}
		if err := errors.Join(c.sums(ctx, store, prices, query, before), c.spent(ctx, store, now)); err != nil {
			return nil, err
		}
		after, err := total(ctx, store, query)
		if err != nil {
			return nil, err
		}
		if same(before, after) {
			return c, nil
		}
		until = now.Add(-young)
	}
	return nil, errors.New("the ledger changes while it is looked at; try again when there is less to do")
}

// sums walks over the entries and compares.
func (c *Checked) sums(ctx context.Context, store ledger.Store, prices Prices, query ledger.Query, want ledger.Row) error {
	pruned := query
	pruned.Pruned = true
	sum, err := total(ctx, store, pruned)
	if err != nil {
		return err
	}
	c.Pruned = sum.Requests
	for e, err := range store.Entries(ctx, time.Time{}) {
		if err != nil {
			return err
		}
		if !e.Start.Before(query.Until) {
			continue
		}
		c.Entries++
		c.entry(e, prices)
		row := ledger.Row{Requests: 1, Usage: e.Usage, Cost: e.Cost}
		*map[ledger.Outcome]*int64{ledger.OK: &row.OK, ledger.Failed: &row.Failed, ledger.Cancelled: &row.Cancelled, ledger.Interrupted: &row.Interrupted, ledger.Open: &row.Open}[e.Outcome] = 1
		if e.Price == "" && e.Usage.Input+e.Usage.Output+e.Usage.Images > 0 {
			row.Unpriced = 1
		}
		if e.UsageSource != ledger.Told {
			row.Estimated = 1
		}
		if e.UsageSource == ledger.Rejected {
			row.Rejected = 1
		}
		sum.Add(row)
	}
	if !same(sum, want) {
		c.Sums = append(c.Sums, fmt.Sprintf("the entries and what was pruned are %+v, the report says %+v", sum, want))
	}
	for _, d := range ledger.Dimensions {
		by := query
		by.By = []ledger.Dimension{d}
		rows, err := store.Report(ctx, by)
		if err != nil {
			return err
		}
		var got ledger.Row
		for _, r := range rows {
			got.Add(r)
		}
		if !same(got, want) {
			c.Sums = append(c.Sums, fmt.Sprintf("by %s it is %+v, in all %+v", d, got, want))
		}
	}
	return nil
}

// spent compares what keys and owners have spent in the month under way, which budgets go on
// from, with what their requests cost. It grows meanwhile, and is looked at twice.
func (c *Checked) spent(ctx context.Context, store ledger.Store, now time.Time) error {
	now = now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	type spender struct{ key, owner string }
	look := func() (map[spender]int64, error) {
		spends, err := store.Spent(ctx, month)
		all := make(map[spender]int64, len(spends))
		for _, s := range spends {
			all[spender{s.KeyID, s.Owner}] = s.Cost
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
	u := e.Usage
	parts := []struct {
		name        string
		part, whole int64
	}{
		{"cache reads and writes", u.CacheRead + u.CacheWrite, u.Input}, {"writes for an hour", u.CacheWrite1h, u.CacheWrite},
		{"thinking", u.Thinking, u.Output},
	}
	for _, p := range parts {
		if p.part > p.whole {
			c.wrongf(e, "%d tokens of %s are more than the %d they are part of", p.part, p.name, p.whole)
		}
	}
	if slices.Min([]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.InputImage, u.InputAudio, u.Thinking, u.OutputImage, u.OutputAudio, u.Images, e.Cost}) < 0 {
		c.wrongf(e, "a figure is below 0")
	}
	if e.Price == "" && e.Cost != 0 && e.Attempts <= 1 {
		c.wrongf(e, "it costs %d nano-dollars by no price", e.Cost)
	}
	if prices == nil || e.Price == "" {
		return
	}
	p, ok := prices.ByID(e.Price)
	if !ok {
		c.Unknown++
		return
	}
	cost := p.Cost(u)
	if cost != e.Cost && e.Attempts > 1 {
		c.Several++
		return
	}
	c.Recomputed++
	if cost != e.Cost {
		c.wrongf(e, "it costs %d nano-dollars, by %s it would be %d", e.Cost, e.Price, cost)
	}
}

// total is the one row of a report without dimensions.
func total(ctx context.Context, store ledger.Store, query ledger.Query) (ledger.Row, error) {
	rows, err := store.Report(ctx, query)
	if err != nil || len(rows) == 0 {
		return ledger.Row{}, err
	}
	return rows[0], nil
}

func same(a, b ledger.Row) bool {
	return a.Requests == b.Requests && a.OK == b.OK && a.Failed == b.Failed && a.Cancelled == b.Cancelled && a.Interrupted == b.Interrupted &&
		a.Open == b.Open && a.Usage == b.Usage && a.Cost == b.Cost && a.Unpriced == b.Unpriced && a.Estimated == b.Estimated && a.Rejected == b.Rejected
}
