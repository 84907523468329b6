package limit

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Memory keeps what is used in this process: for a core that is alone. Its methods are
// safe for concurrent use. What all subjects of a claim hold is taken in one step, or
// nothing is.
type Memory struct {
	clock func() time.Time
	base  time.Time

	mu       sync.Mutex
	calendar Calendar
	accounts map[name]*account
	swept    int64
}

// name is a subject's.
type name struct {
	scope Scope
	id    string
}

// account is what one subject uses.
type account struct {
	requests, tokens Meter
	running          int64
	spending         [2]spending // by period
}

// spending is the money of one period: what is spent, and what requests under way hold.
type spending struct{ start, spent, held int64 }

// NewMemory makes a store without uses. The clock is time.Now unless given.
func NewMemory(clock func() time.Time) *Memory {
	if clock == nil {
		clock = time.Now
	}
	return &Memory{clock: clock, base: clock(), accounts: map[name]*account{}}
}

// now is the time, and in microseconds, which never run backwards, as the wall clock
// may.
func (m *Memory) now() (time.Time, int64) {
	now := m.clock()
	return now, m.base.UnixMicro() + now.Sub(m.base).Microseconds()
}

// Reserve takes the claim, or gives a *Refusal.
func (m *Memory) Reserve(_ context.Context, claim *Claim) (Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wall, now := m.now()
	claim.Starts = m.calendar.Starts(wall)
	m.sweep(now, claim.Starts)
	var standing Standing
	var worst *Refusal
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		a := m.account(s.Scope, s.ID)
		claim.accounts[i] = a
		for p := range a.spending {
			a.spending[p].enter(claim.Starts[p])
		}
		if r := a.refuse(s, claim, wall, now); r != nil && (worst == nil || r.After > worst.After) {
			worst = r
		}
	}
	for i := range claim.Subjects {
		a, s := claim.accounts[i], &claim.Subjects[i]
		if worst == nil {
			claim.Holds[i] = a.take(s, claim, now)
		}
		if s.Requests > 0 {
			standing.Requests.note(a.requests, s.Requests, now)
		}
		if s.Tokens > 0 {
			standing.Tokens.note(a.tokens, s.Tokens, now)
		}
	}
	if worst != nil {
		worst.Standing = standing
		return standing, worst
	}
	return standing, nil
}

// account finds a subject's account, or makes it.
func (m *Memory) account(scope Scope, id string) *account {
	a := m.accounts[name{scope, id}]
	if a == nil {
		a = &account{}
		m.accounts[name{scope, id}] = a
	}
	return a
}

// enter begins a period, unless it is the one under way.
func (s *spending) enter(start int64) {
	if start != s.start {
		*s = spending{start: start}
	}
}

// charge is how many tokens a claim takes of a subject at once. One that asks for more
// than a minute's worth takes all of it, since it would never be admitted otherwise;
// what it uses beyond is settled as debt.
func (s *Subject) charge(tokens int64) int64 {
	return min(tokens, s.Tokens, mostTokens)
}

// refuse gives the refusal of a claim that lasts longest; nil for none.
func (a *account) refuse(s *Subject, claim *Claim, wall time.Time, now int64) *Refusal {
	var worst *Refusal
	keep := func(r Refusal) {
		if worst == nil || r.After > worst.After {
			r.Scope = s.Scope
			worst = &r
		}
	}
	if s.Concurrent > 0 && a.running >= s.Concurrent {
		keep(Refusal{Metric: Concurrent, Limit: s.Concurrent, Asked: 1, After: heldFor})
	}
	if s.Requests > 0 {
		if wait := a.requests.after(1, s.Requests, now).wait(now); wait > 0 {
			keep(Refusal{Metric: Requests, Limit: s.Requests, Asked: 1, After: time.Duration(wait) * time.Microsecond})
		}
	}
	if s.Tokens > 0 {
		if wait := a.tokens.after(s.charge(claim.Tokens), s.Tokens, now).wait(now); wait > 0 {
			keep(Refusal{Metric: Tokens, Limit: s.Tokens, Asked: claim.Tokens, After: time.Duration(wait) * time.Microsecond})
		}
	}
	for p, most := range s.Budgets {
		if spent := a.spending[p]; most > 0 {
			if r, refused := overBudget(claim, p, most, spent.spent, spent.held, wall); refused {
				keep(r)
			}
		}
	}
	return worst
}

// heldFor is the wait for what requests under way hold: nobody knows when they end.
const heldFor = time.Second

// overBudget reports whether a claim does not fit in a budget. What costs nothing fits.
func overBudget(claim *Claim, place int, most, spent, held int64, now time.Time) (Refusal, bool) {
	if claim.Cost <= 0 || spent+held+claim.Cost <= most {
		return Refusal{}, false
	}
	period := Periods[place]
	r := Refusal{Metric: Money, Limit: most, Period: period, End: period.End(time.Unix(claim.Starts[place], 0)), Asked: claim.Cost, After: heldFor}
	if r.Held = spent+claim.Cost <= most; !r.Held {
		r.After = max(r.End.Sub(now), heldFor)
	}
	return r, true
}

// take takes a claim that was not refused.
func (a *account) take(s *Subject, claim *Claim, now int64) Hold {
	a.running++
	if s.Requests > 0 {
		a.requests = a.requests.after(1, s.Requests, now)
	}
	for p := range a.spending {
		a.spending[p].held += claim.Cost
	}
	if s.Tokens == 0 {
		return Hold{}
	}
	charge := s.charge(claim.Tokens)
	a.tokens = a.tokens.after(charge, s.Tokens, now)
	return Hold{}.plus(charge, a.tokens)
}

// Extend takes more for a request that is under way, which nothing refuses.
func (m *Memory) Extend(claim *Claim, more Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now := m.now()
	for i := range claim.Subjects {
		a, s := claim.accounts[i], &claim.Subjects[i]
		if s.Tokens > 0 {
			charge := min(more.Tokens, mostTokens)
			a.tokens = a.tokens.after(charge, cmp.Or(a.tokens.Rate, s.Tokens), now)
			claim.Holds[i] = claim.Holds[i].plus(charge, a.tokens)
		}
		for p := range a.spending {
			if a.spending[p].start == claim.Starts[p] {
				a.spending[p].held += more.Cost
			}
		}
	}
	claim.Cost += more.Cost
}

// Settle puts what a request took in place of what it claimed. It is called once for
// each claim that was reserved.
func (m *Memory) Settle(claim *Claim, actual Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now := m.now()
	for i := range claim.Subjects {
		a, s := claim.accounts[i], &claim.Subjects[i]
		a.running--
		if s.Tokens > 0 {
			a.tokens = a.tokens.settle(claim.Holds[i], min(actual.Tokens, mostTokens), s.Tokens, now)
		}
		for p := range a.spending {
			if a.spending[p].start == claim.Starts[p] {
				a.spending[p].held -= claim.Cost
				a.spending[p].spent += actual.Cost
			}
		}
	}
}

// Seed sets what a subject has spent in the period that holds at, as a ledger knows
// it. It is for the start, before anything is claimed.
func (m *Memory) Seed(scope Scope, id string, period Period, at time.Time, spent int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.account(scope, id).spending[period.place()]
	s.enter(period.Start(at).Unix())
	s.spent = spent
}

// sweepEvery is how often accounts are looked through, in microseconds.
const sweepEvery = 10 * minute

// sweep forgets accounts that are as if they had never been used.
func (m *Memory) sweep(now int64, starts [2]int64) {
	if now-m.swept < sweepEvery {
		return
	}
	m.swept = now
	for n, a := range m.accounts {
		idle := a.running == 0 && a.requests.Free <= now && a.tokens.Free <= now
		for p, s := range a.spending {
			idle = idle && (s.start < starts[p] || s.spent == 0 && s.held == 0)
		}
		if idle {
			delete(m.accounts, n)
		}
	}
}

// Close does nothing: memory has no end.
func (m *Memory) Close() error { return nil }
