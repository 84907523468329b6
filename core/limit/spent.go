package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/core/amount"
)

// Spend is what the requests of a key cost while it had that owner, in nano-dollars.
type Spend struct {
	KeyID, Owner string
	Cost         int64
}

// Spent reports what requests cost that began at since or later, as a ledger does.
type Spent func(ctx context.Context, since time.Time) ([]Spend, error)

// sums adds spends up by whom they are counted against.
func sums(spends []Spend) map[name]int64 {
	all := make(map[name]int64, 2*len(spends))
	for _, s := range spends {
		key, owner := name{Key, s.KeyID}, name{Owner, s.Owner}
		all[key] = amount.Sum(all[key], s.Cost)
		if s.Owner != "" {
			all[owner] = amount.Sum(all[owner], s.Cost)
		}
	}
	return all
}

// Each calls yield with what keys and owners have spent since a time, at most
// amount.Exact.
func (s Spent) Each(ctx context.Context, since time.Time, yield func(scope Scope, id string, spent int64)) error {
	if s == nil {
		return nil
	}
	spends, err := s(ctx, since)
	if err != nil {
		return fmt.Errorf("limit: what was spent since %s: %w", since.UTC().Format(time.DateOnly), err)
	}
	for n, spent := range sums(spends) {
		yield(n.scope, n.id, amount.Bound(spent))
	}
	return nil
}

// Restore sets what keys and owners have spent in the periods under way.
func (m *Memory) Restore(ctx context.Context, spent Spent) error {
	now := m.clock()
	for _, period := range Periods {
		err := spent.Each(ctx, period.Start(now), func(scope Scope, id string, spent int64) {
			m.Seed(scope, id, period, now, spent)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
