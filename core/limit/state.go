package limit

import (
	"time"

	"github.com/genway/genway/core/amount"
)

// State is what one subject uses.
type State struct {
	Rates [rates]Meter
	// Running are the requests under way that were admitted under a limit of them.
	Running int64
	// Money is what was spent in the day and in the month.
	Money [2]Spending
	// open are all requests under way.
	open int64
}

// Spending is the money of one period, in nano-dollars: what is spent, and what requests
// under way hold.
type Spending struct{ Spent, Held int64 }

// hold holds more.
func (s *Spending) hold(cost int64) { s.Held = amount.Bound(amount.Sum(s.Held, cost)) }

// settle puts what was spent in place of what was held.
func (s *Spending) settle(held, spent int64) {
	s.Held, s.Spent = amount.Less(s.Held, held), amount.Bound(amount.Sum(s.Spent, spent))
}

// Charge is how much a claim takes of a subject's rate at once. One that asks for more
// than a minute's worth takes all of it, since it would never be admitted otherwise;
// what it uses beyond is settled as debt.
func (s *Subject) Charge(rate Metric, claim *Claim) int64 {
	return min(claim.Of(rate), s.Figures[rate])
}

// Extend has a claim hold more money, and returns how much more it holds then.
func (c *Claim) Extend(cost int64) (more int64) {
	before := c.Cost
	c.Cost = amount.Bound(amount.Sum(c.Cost, cost))
	return c.Cost - before
}

// Grant has a claim that was not refused hold the money that it would take, as far as all budgets have it left. The states
// are its subjects', in their order, without the claim.
func (c *Claim) Grant(states []*State) {
	granted := c.UpTo
	for i := range c.Subjects {
		for p, most := range c.Subjects[i].Budgets {
			if money := states[i].Money[p]; most > 0 {
				granted = min(granted, amount.Less(most, amount.Sum(money.Spent, money.Held)))
			}
		}
	}
	c.Cost = max(c.Cost, granted)
}

// never returns the refusal of a claim that no state of its subjects admits; nil for none.
func (c *Claim) never() *Refusal {
	for i := range c.Subjects {
		if s := &c.Subjects[i]; s.Figures[Tokens] > 0 && c.Tokens > MaxTokens {
			return &Refusal{Scope: s.Scope, Metric: Tokens, Limit: MaxTokens, Asked: c.Of(Tokens), Never: true}
		}
	}
	for i := range c.Subjects {
		for p, most := range c.Subjects[i].Budgets {
			if most > 0 && c.Cost > most {
				return &Refusal{Scope: c.Subjects[i].Scope, Metric: Money, Limit: most, Period: Periods[p], Asked: c.Cost, Never: true}
			}
		}
	}
	return nil
}

// Standing is what the claim's caller has left. The states are its subjects', in
// their order; now is in microseconds.
func (c *Claim) Standing(states []*State, now int64) Standing {
	var standing Standing
	for i := range c.Subjects {
		s := &c.Subjects[i]
		for m := range rates {
			if s.Figures[m] > 0 {
				standing.Rates[m].note(states[i].Rates[m], s.Figures[m], now)
			}
		}
		for p, most := range s.Budgets {
			if most > 0 {
				standing.Money.note(s, p, states[i].Money[p].Spent, c.Starts[p])
			}
		}
	}
	return standing
}

// Refused returns the refusal of a claim that lasts longest, of its subjects'
// states; nil for none.
func (c *Claim) Refused(states []*State, wall time.Time, now int64) *Refusal {
	var worst *Refusal
	for i := range c.Subjects {
		if r := states[i].refuse(&c.Subjects[i], c, wall, now); r != nil && (worst == nil || r.After > worst.After) {
			worst = r
		}
	}
	if worst != nil {
		worst.Standing = c.Standing(states, now)
	}
	return worst
}

// refuse returns the refusal of one subject that lasts longest; nil for none.
func (a *State) refuse(s *Subject, claim *Claim, wall time.Time, now int64) *Refusal {
	var worst *Refusal
	keep := func(r Refusal) {
		if worst == nil || r.After > worst.After {
			r.Scope = s.Scope
			worst = &r
		}
	}
	if most := s.Figures[Concurrent]; most > 0 && a.Running >= most {
		keep(Refusal{Metric: Concurrent, Limit: most, Asked: 1, After: heldFor})
	}
	for m := range rates {
		if most := s.Figures[m]; most > 0 {
			if wait := a.Rates[m].After(s.Charge(m, claim), most, now).Wait(now); wait > 0 {
				keep(Refusal{Metric: m, Limit: most, Asked: claim.Of(m), After: time.Duration(wait) * time.Microsecond})
			}
		}
	}
	for p, most := range s.Budgets {
		if money := a.Money[p]; most > 0 && claim.Cost > 0 && amount.Sum(money.Spent, money.Held, claim.Cost) > most {
			keep(overBudget(claim, p, most, money, wall))
		}
	}
	return worst
}

// heldFor is the wait for what requests in flight hold: their end is not known.
const heldFor = time.Second

// overBudget is the refusal of a claim that does not fit in a budget.
func overBudget(claim *Claim, place int, most int64, money Spending, now time.Time) Refusal {
	period := Periods[place]
	r := Refusal{Metric: Money, Limit: most, Period: period, End: period.End(time.Unix(claim.Starts[place], 0)), Asked: claim.Cost, After: heldFor}
	if r.Held = amount.Sum(money.Spent, claim.Cost) <= most; !r.Held {
		r.After = max(r.End.Sub(now), heldFor)
	}
	return r
}

// take takes a claim that was not refused, and notes what it holds.
func (a *State) take(s *Subject, claim *Claim, holds *Holds, now int64) {
	a.open++
	if s.Figures[Concurrent] > 0 {
		a.Running++
	}
	for m := range rates {
		if s.Figures[m] > 0 {
			a.Rates[m] = a.Rates[m].After(s.Charge(m, claim), s.Figures[m], now)
		}
	}
	holds.Note(s, a, claim)
	for p, most := range s.Budgets {
		if most > 0 {
			a.Money[p].hold(claim.Cost)
		}
	}
}

// Note notes what a claim holds of a subject, once it was taken of the state.
func (h *Holds) Note(s *Subject, taken *State, claim *Claim) {
	*h = Holds{}
	for m := Tokens; m < rates; m++ {
		if s.Figures[m] > 0 {
			*h.Of(m) = Hold{}.plus(s.Charge(m, claim), taken.Rates[m])
		}
	}
}
