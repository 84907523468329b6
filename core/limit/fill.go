package limit

import (
	"sync"
	"time"

	"github.com/genway/genway/core/amount"
)

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
