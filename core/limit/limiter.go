package limit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/core/amount"
)

// ErrUnavailable reports that a request can be neither admitted nor refused: the store that
// cores share does not answer.
var ErrUnavailable = errors.New("limit: the shared store does not answer")

// A Store knows what is used of limits. Its methods are safe for concurrent use, those
// on one claim one after the other.
type Store interface {
	// Reserve takes what the claim asks of all its subjects, or nothing: then the error
	// is a *Refusal, or wraps ErrUnavailable.
	Reserve(ctx context.Context, claim *Claim) (Standing, error)
	// Extend takes more for a claim that was reserved; nothing refuses it.
	Extend(claim *Claim, more Amount)
	// Settle puts what a request took in place of what it claimed, once. It does not
	// wait for others.
	Settle(claim *Claim, actual Amount)
	// Peek returns what each subject of a claim uses of its rates and places now, in their order,
	// and takes nothing. While the shared store does not answer, the error wraps ErrUnavailable.
	Peek(ctx context.Context, claim *Claim) ([]Use, error)
	// Close ends the store, once all claims are settled.
	Close() error
}

// A Limiter admits requests by rules that may change while it runs. Its methods are safe
// for concurrent use; a nil Limiter admits everything.
type Limiter struct {
	store Store
	rules atomic.Pointer[rules]
}

// New makes a limiter. The caller closes the store.
func New(store Store, rules Rules) *Limiter {
	l := &Limiter{store: store}
	l.Swap(rules)
	return l
}

// Swap replaces the rules for requests that begin from now on. What is used stays.
func (l *Limiter) Swap(rules Rules) { l.rules.Store(rules.compile()) }

// A Reservation is one request's part of the limits. Its methods are for one goroutine
// at a time, but for Settle; on a nil Reservation they do nothing.
type Reservation struct {
	store Store
	rules *rules
	claim Claim
}

// The states of a reservation.
const (
	prepared = iota
	reserved
	settled
)

// Prepare finds out which limits a request is held to.
func (l *Limiter) Prepare(who Who) *Reservation {
	if l == nil {
		return nil
	}
	r := &Reservation{store: l.store, rules: l.rules.Load()}
	r.rules.subjects(&r.claim, who)
	return r
}

// Rules are those the request is held to. They are not to be changed.
func (r *Reservation) Rules() *Rules { return &r.rules.Rules }

// Limited reports whether any limit is asked for the request.
func (r *Reservation) Limited() bool { return r != nil && len(r.claim.Subjects) > 0 }

// Budgeted reports whether money bounds the request.
func (r *Reservation) Budgeted() bool {
	if r == nil {
		return false
	}
	for i := range r.claim.Subjects {
		if r.claim.Subjects[i].Budgeted() {
			return true
		}
	}
	return false
}

// Weighed reports whether a rate that is settled or money bounds the request: only then it matters what it
// may take.
func (r *Reservation) Weighed() bool {
	if r == nil {
		return false
	}
	for i := range r.claim.Subjects {
		s := &r.claim.Subjects[i]
		if s.Budgeted() || slices.Max(s.Figures[Tokens:rates]) > 0 {
			return true
		}
	}
	return false
}

// Reserve takes what the request may need, from all limits or from none. Where a limit
// does not admit it, the error is a *Refusal; while the shared store does not answer, it wraps ErrUnavailable. A
// request that no state of the limits admits is refused without asking the store.
func (r *Reservation) Reserve(ctx context.Context, most Amount) (Standing, error) {
	_, standing, err := r.ReserveUpTo(ctx, most, 0)
	return standing, err
}

// ReserveUpTo is Reserve for a request that takes more money than the least that admits it where the budgets have
// more: up to most in all. It returns the money that the request holds, in nano-dollars.
func (r *Reservation) ReserveUpTo(ctx context.Context, least Amount, most int64) (cost int64, _ Standing, _ error) {
	if !r.Limited() {
		return 0, Standing{}, nil
	}
	r.claim.Amount, r.claim.UpTo = least.bounded(), amount.Bound(most)
	if refusal := r.claim.never(); refusal != nil {
		return 0, Standing{}, refusal
	}
	standing, err := r.store.Reserve(ctx, &r.claim)
	if err == nil {
		r.claim.state.Store(reserved)
	}
	return r.claim.Cost, standing, err
}

// Extend takes more for a request that turns out to need it. It is admitted already, so
// this counts against those that follow.
func (r *Reservation) Extend(more Amount) {
	if r != nil && r.claim.state.Load() == reserved {
		r.store.Extend(&r.claim, more.bounded())
	}
}

// Settle puts what the request took in place of what it had reserved. The first call
// counts; later ones do nothing.
func (r *Reservation) Settle(actual Amount) {
	if r != nil && r.claim.state.CompareAndSwap(reserved, settled) {
		r.store.Settle(&r.claim, actual.bounded())
	}
}

// Gauge is one limit and how much of it is used.
type Gauge struct {
	// Scope and ID name the subject of the limit: the key's identifier or the owner's name.
	Scope Scope
	ID    string
	// Metric is what it bounds; Period is the period of a budget.
	Metric Metric
	Period Period
	// Most is the limit's figure; of money, in nano-dollars.
	Most int64
	// Used is what is used of it now: requests and tokens that the meter has not given back
	// yet, rounded up and at most Most, or requests under way. It holds where Known is set, which
	// it never is for budgets: the ledger knows what was spent.
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
// cores share does not answer, no use is known. Other errors come from ctx. A nil Limiter
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
		gauges = append(gauges, s.gauges()...)
	}
	return gauges, nil
}

// Budgets returns the budgets of a key and of its owner, without what is spent of them. A nil Limiter has none.
func (l *Limiter) Budgets(who Who) []Gauge {
	if l == nil {
		return nil
	}
	who.Model = ""
	var claim Claim
	l.rules.Load().subjects(&claim, who)
	var gauges []Gauge
	for i := range claim.Subjects {
		gauges = append(gauges, claim.Subjects[i].gauges()...)
	}
	return gauges
}

// gauges are the budgets of a subject.
func (s *Subject) gauges() []Gauge {
	var gauges []Gauge
	for p, budget := range s.Budgets {
		if budget > 0 {
			gauges = append(gauges, Gauge{Scope: s.Scope, ID: s.ID, Metric: Money, Period: Periods[p], Most: budget})
		}
	}
	return gauges
}
