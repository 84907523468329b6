package limit

import (
	"context"
	"errors"
)

// Gauge is one limit and how much of it is used.
type Gauge struct {
	// Scope and ID name the subject of the limit: the key's identifier or the owner's name.
	Scope Scope
	ID    string
	// Metric is what it bounds; Period is that of a budget.
	Metric Metric
	Period Period
	// Most is the limit's figure; of money, in nano-dollars.
	Most int64
	// Used is what is used of it now: requests and tokens that the meter has not given back
	// yet, rounded up and at most Most, or requests under way. It holds where Known is set, which
	// it never is of budgets: the ledger knows what was spent.
	Used  int64
	Known bool
}

// Use is what one subject uses of its limits now, by metric. What has no bound is 0.
type Use [Money]int64

// Use is what a subject in this state uses. now is in microseconds.
func (a *State) Use(of *Subject, now int64) Use {
	var use Use
	for m := range rates {
		if most := of.Figures[m]; most > 0 {
			use[m] = most - a.Rates[m].Left(most, now)
		}
	}
	if of.Figures[Concurrent] > 0 {
		use[Concurrent] = a.Running
	}
	return use
}

// Gauges returns the limits of a key and of its owner, and takes nothing of them. While a store that
// cores share does not answer, no use is known. Other errors are those of ctx. A nil Limiter
// has no limits.
func (l *Limiter) Gauges(ctx context.Context, who Who) ([]Gauge, error) {
	if l == nil {
		return nil, nil
	}
	who.Model = ""
	var claim Claim
	l.rules.Load().subjects(&claim, who)
	uses, err := l.store.Peek(ctx, &claim)
	if err != nil && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	var gauges []Gauge
	for i := range claim.Subjects {
		s, use, known := &claim.Subjects[i], Use{}, err == nil
		if known {
			use = uses[i]
		}
		for m, most := range s.Figures {
			if most > 0 {
				gauges = append(gauges, Gauge{Scope: s.Scope, ID: s.ID, Metric: Metric(m), Most: most, Used: use[m], Known: known})
			}
		}
		for p, most := range s.Budgets {
			if most > 0 {
				gauges = append(gauges, Gauge{Scope: s.Scope, ID: s.ID, Metric: Money, Period: Periods[p], Most: most})
			}
		}
	}
	return gauges, nil
}
