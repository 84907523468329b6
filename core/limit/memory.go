package limit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/genway/genway/core/amount"
)

// Memory keeps what is used in this process, for a core that shares its limits with no other. Its methods are
// safe for concurrent use. What all subjects of a claim hold is taken in one step, or
// nothing is.
type Memory struct {
	clock func() time.Time
	base  time.Time
	fills Fills

	mu       sync.Mutex
	calendar Calendar
	accounts map[name]*account
	sweeper  sweeper
}

// name is a subject's.
type name struct {
	scope Scope
	id    string
}

// account is what one subject uses, and the periods that its money was spent in.
type account struct {
	State

	starts [2]int64
	name   name
}

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

// Reserve takes the claim, or returns a *Refusal.
func (m *Memory) Reserve(_ context.Context, claim *Claim) (Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wall, now := m.now()
	claim.Starts = m.calendar.Starts(wall)
	m.sweep(now, claim.Starts)
	var states [maxSubjects]*State
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		a := m.account(s.Scope, s.ID)
		a.enter(claim.Starts)
		claim.accounts[i], states[i] = a, &a.State
	}
	if refusal := claim.Refused(states[:len(claim.Subjects)], wall, now); refusal != nil {
		for i := range claim.Subjects {
			m.note(&claim.Subjects[i], claim.accounts[i])
		}
		return refusal.Standing, refusal
	}
	claim.Grant(states[:len(claim.Subjects)])
	for i := range claim.Subjects {
		states[i].take(&claim.Subjects[i], claim, &claim.Holds[i], now)
	}
	return claim.Standing(states[:len(claim.Subjects)], now), nil
}

// Peek returns what the claim's subjects use.
func (m *Memory) Peek(_ context.Context, claim *Claim) ([]Use, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now := m.now()
	uses := make([]Use, len(claim.Subjects))
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		if a := m.accounts[name{s.Scope, s.ID}]; a != nil {
			uses[i] = a.Use(s, now)
		}
	}
	return uses, nil
}

// enter begins periods, unless they are those under way.
func (a *account) enter(starts [2]int64) {
	for p, start := range starts {
		if start != a.starts[p] {
			a.starts[p], a.Money[p] = start, Spending{}
		}
	}
}

// account finds a subject's account, or makes it.
func (m *Memory) account(scope Scope, id string) *account {
	a := m.accounts[name{scope, id}]
	if a == nil {
		a = &account{name: name{scope, id}}
		m.accounts[a.name] = a
		m.sweeper.ring = append(m.sweeper.ring, a)
	}
	return a
}

// Extend takes more for a request that is under way, which nothing refuses.
func (m *Memory) Extend(claim *Claim, more Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now := m.now()
	held := claim.Extend(more.Cost)
	for i := range claim.Subjects {
		a, s := claim.accounts[i], &claim.Subjects[i]
		for m := Tokens; m < rates; m++ {
			n := more.Of(m)
			if s.Figures[m] == 0 || n == 0 {
				continue
			}
			meter, hold := &a.Rates[m], claim.Holds[i].Of(m)
			*meter = meter.After(n, cmp.Or(meter.Rate, s.Figures[m]), now)
			*hold = hold.plus(n, *meter)
			if meter.full(now) {
				hold.Last = 0 // less may have been taken than can be returned
			}
		}
		for p, most := range s.Budgets {
			if most > 0 && a.starts[p] == claim.Starts[p] {
				a.Money[p].hold(held)
			}
		}
	}
}

// Settle puts what a request took in place of what it claimed. It is called once for
// each claim that was reserved.
func (m *Memory) Settle(claim *Claim, actual Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now := m.now()
	for i := range claim.Subjects {
		a, s := claim.accounts[i], &claim.Subjects[i]
		a.open--
		if s.Figures[Concurrent] > 0 {
			a.Running--
		}
		for m := Tokens; m < rates; m++ {
			if s.Figures[m] > 0 {
				a.Rates[m] = a.Rates[m].settle(*claim.Holds[i].Of(m), actual.Of(m), s.Figures[m], now)
			}
		}
		for p, most := range s.Budgets {
			held := claim.Cost
			if most == 0 {
				held = 0 // it is spent all the same
			}
			if a.starts[p] == claim.Starts[p] {
				a.Money[p].settle(held, actual.Cost)
			}
		}
		m.note(s, a)
	}
}

// note has the fills know what a subject has spent.
func (m *Memory) note(s *Subject, a *account) {
	m.fills.Note(s, a.starts, [2]int64{a.Money[dayBudget].Spent, a.Money[monthBudget].Spent})
}

// Fills is what is spent of budgets.
func (m *Memory) Fills() *Fills { return &m.fills }

// Seed sets what a subject has spent in the period that holds at, as others know it.
func (m *Memory) Seed(scope Scope, id string, period Period, at time.Time, spent int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, p := m.account(scope, id), period.place()
	if start := period.Start(at).Unix(); a.starts[p] != start {
		a.starts[p], a.Money[p] = start, Spending{}
	}
	a.Money[p].Spent = amount.Bound(spent)
}

// Spend adds to what a subject has spent in a period that began at start, in seconds since 1970; not if a later one has begun.
func (m *Memory) Spend(scope Scope, id string, place int, start, cost int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.account(scope, id); a.starts[place] == start {
		a.Money[place].settle(0, cost)
	}
}

// Close does nothing: memory has no end.
func (m *Memory) Close() error { return nil }

const (
	// sweepEvery is how often accounts are looked through, in microseconds.
	sweepEvery = 10 * minute
	// sweepStep is how many of them one request looks at: none waits for all.
	sweepStep = 8
)

// sweeper is all accounts, in any order, and where looking through them has come to.
type sweeper struct {
	ring []*account
	// begun is when looking through them was last begun, at is the next one, and left is how
	// many of them are to be looked at.
	begun    int64
	at, left int
}

// sweep forgets accounts that are as if they had never been used: of some, as it goes on with
// each request.
func (m *Memory) sweep(now int64, starts [2]int64) {
	s := &m.sweeper
	if s.left == 0 {
		if now-s.begun < sweepEvery {
			return
		}
		s.begun, s.at, s.left = now, 0, len(s.ring)
	}
	for range min(s.left, sweepStep) {
		s.left--
		a := s.ring[s.at]
		if !a.idle(now, starts) {
			s.at++
			continue
		}
		delete(m.accounts, a.name)
		// The last one takes its place, and is looked at next; if it came since looking began, one of
		// those before is left for the next time.
		last := len(s.ring) - 1
		s.ring[s.at], s.ring[last] = s.ring[last], nil
		s.ring = s.ring[:last]
	}
}

func (a *account) idle(now int64, starts [2]int64) bool {
	idle := a.open == 0
	for i := range a.Rates {
		idle = idle && a.Rates[i].Free <= now
	}
	for p, s := range a.Money {
		idle = idle && (a.starts[p] < starts[p] || s == Spending{})
	}
	return idle
}

// Spend is what the requests of a key cost that one process served while the key had that owner, in nano-dollars.
type Spend struct {
	// Process is the name of the process in the ledger.
	Process      string
	KeyID, Owner string
	Cost         int64
}

// Spent reports what requests cost that began at since or later, as a ledger does: requests of one key, of one owner if
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

// Fills knows which part of budgets is spent, of the subjects that have made requests at this
// process in the periods under way. Its methods are safe for concurrent use; the zero value
// has no budget.
type Fills struct {
	mu  sync.Mutex
	all map[budgeted]filled
}

type budgeted struct {
	name  name
	place int
}

type filled struct{ start, spent, most int64 }

// Note takes what a subject has spent of its budgets, in the periods that began at starts.
func (f *Fills) Note(s *Subject, starts, spent [2]int64) {
	f.note(s, starts, spent, false)
}

// Assume is Note for the budgets of which nothing is known yet in these periods. Of the others
// it takes the budget, not what is spent of it.
func (f *Fills) Assume(s *Subject, starts, spent [2]int64) {
	f.note(s, starts, spent, true)
}

// note keeps what is known already of these periods, if keep is set.
func (f *Fills) note(s *Subject, starts, spent [2]int64, keep bool) {
	if !s.Budgeted() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[budgeted]filled{}
	}
	for p, most := range s.Budgets {
		if most == 0 {
			continue
		}
		b, is := budgeted{name{s.Scope, s.ID}, p}, filled{starts[p], spent[p], most}
		if was := f.all[b]; keep && was.start == is.start {
			is.spent = was.spent
		}
		f.all[b] = is
	}
}

// Spend adds to what a subject is known to have spent in the periods that began at starts.
func (f *Fills) Spend(s *Subject, starts [2]int64, cost int64) {
	if !s.Budgeted() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, start := range starts {
		b := budgeted{name{s.Scope, s.ID}, p}
		if is, known := f.all[b]; known && is.start == start {
			is.spent = amount.Bound(amount.Sum(is.spent, cost))
			f.all[b] = is
		}
	}
}

// Each calls yield with the fullest budget of each scope and period: the part that is spent,
// 0 to 1. Budgets of periods that are over are forgotten.
func (f *Fills) Each(now time.Time, yield func(scope, period string, fill float64)) {
	var most [maxSubjects][2]float64
	var known [maxSubjects][2]bool
	f.mu.Lock()
	for b, is := range f.all {
		if is.start != Periods[b.place].Start(now).Unix() {
			delete(f.all, b)
			continue
		}
		known[b.name.scope][b.place] = true
		most[b.name.scope][b.place] = max(most[b.name.scope][b.place], min(1, float64(is.spent)/float64(is.most)))
	}
	f.mu.Unlock()
	for scope := range known {
		for place, found := range known[scope] {
			if found {
				yield(Scope(scope).String(), string(Periods[place]), most[scope][place])
			}
		}
	}
}
