package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/core/amount"
)

// Spend is what the requests of a key cost that one process served while the key had that owner, in nano-dollars.
type Spend struct {
	// Process is the name of the process in the ledger.
	Process      string
	KeyID, Owner string
	Cost         int64
}

// Spent reports what requests cost that began at since or later, as a ledger does: those of one key, of one owner if
// keyID is empty, of all if both are. A nil Spent knows of nothing.
type Spent func(ctx context.Context, since time.Time, keyID, owner string) ([]Spend, error)

// Each calls yield with what each key and each owner has spent since a time, by process: at most amount.Exact. If only
// is set, it is called for that key or owner alone.
func (s Spent) Each(ctx context.Context, since time.Time, only *Subject, yield func(scope Scope, id, process string, spent int64)) error {
	if s == nil {
		return nil
	}
	keyID, owner := "", ""
	switch {
	case only == nil:
	case only.Scope == Key:
		keyID = only.ID
	case only.Scope == Owner:
		owner = only.ID
	default:
		return nil // models have no budgets
	}
	spends, err := s(ctx, since, keyID, owner)
	if err != nil {
		return fmt.Errorf("limit: what was spent since %s: %w", since.UTC().Format(time.DateOnly), err)
	}
	type spender struct {
		name
		process string
	}
	sums := make(map[spender]int64, 2*len(spends))
	for _, s := range spends {
		for _, n := range []name{{Key, s.KeyID}, {Owner, s.Owner}} {
			if n.id != "" && (only == nil || n == name{only.Scope, only.ID}) {
				by := spender{n, s.Process}
				sums[by] = amount.Bound(amount.Sum(sums[by], s.Cost))
			}
		}
	}
	for by, spent := range sums {
		yield(by.scope, by.id, by.process, spent)
	}
	return nil
}

// Restore sets what keys and owners have spent in the periods under way.
func (m *Memory) Restore(ctx context.Context, spent Spent) error {
	now := m.clock()
	for _, period := range Periods {
		sums := map[name]int64{}
		err := spent.Each(ctx, period.Start(now), nil, func(scope Scope, id, _ string, spent int64) {
			sums[name{scope, id}] = amount.Sum(sums[name{scope, id}], spent)
		})
		if err != nil {
			return err
		}
		for n, spent := range sums {
			m.Seed(n.scope, n.id, period, now, spent)
		}
	}
	return nil
}
