package limit

import (
	"cmp"
	"context"
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

// account is what one subject uses, and the periods its money is of.
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
		m.sweeper.add(a)
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
