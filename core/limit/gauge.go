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

// Use is what one subject uses of its limits now. What has no bound is 0.
type Use struct{ Requests, Tokens, Running int64 }

// Use is what a subject in this state uses. now is in microseconds.
func (a *State) Use(of *Subject, now int64) Use {
	var use Use
	if of.Requests > 0 {
		use.Requests = of.Requests - a.Requests.Left(of.Requests, now)
	}
	if of.Tokens > 0 {
		use.Tokens = of.Tokens - a.Tokens.Left(of.Tokens, now)
	}
	if of.Concurrent > 0 {
		use.Running = a.Running
	}
	return use
}

// Gauges gives the limits of a key and of its owner, and takes nothing of them. While a store that
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
		for _, g := range []Gauge{
			{Metric: Requests, Most: s.Requests, Used: use.Requests, Known: known},
			{Metric: Tokens, Most: s.Tokens, Used: use.Tokens, Known: known},
			{Metric: Concurrent, Most: s.Concurrent, Used: use.Running, Known: known},
			{Metric: Money, Period: Day, Most: s.Budgets[dayBudget]},
			{Metric: Money, Period: Month, Most: s.Budgets[monthBudget]},
		} {
			if g.Most > 0 {
				g.Scope, g.ID = s.Scope, s.ID
				gauges = append(gauges, g)
			}
		}
	}
	return gauges, nil
}
