package limit

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/glob"
)

// Scope is what a limit applies to.
type Scope uint8

// The scopes.
const (
	Key Scope = iota
	Owner
	Model
)

// String is the scope as metrics and shared stores spell it.
func (s Scope) String() string { return [...]string{"key", "owner", "model"}[s] }

// Bounds are Limits with the budgets by period, so that they need no memory of their
// own.
type Bounds struct {
	// Figures are the bounds by metric, as in Kinds. 0 is no bound.
	Figures [Money]int64
	// Budgets are in nano-dollars: of the day, of the month. 0 is no bound.
	Budgets [2]int64
}

// dayBudget and monthBudget are the places of the periods in Budgets.
const (
	dayBudget = iota
	monthBudget
)

// bounds returns limits as bounds.
func (l *Limits) bounds() Bounds {
	var b Bounds
	for m := range Money {
		b.Figures[m] = *l.Figure(m)
	}
	for _, budget := range l.Budgets {
		b.Budgets[budget.Period.place()] = budget.Amount
	}
	return b
}

func (p Period) place() int {
	if p == Month {
		return monthBudget
	}
	return dayBudget
}

// or fills bounds that are not set from others.
func (b Bounds) or(others Bounds) Bounds {
	for m := range b.Figures {
		b.Figures[m] = cmp.Or(b.Figures[m], others.Figures[m])
	}
	for i := range b.Budgets {
		b.Budgets[i] = cmp.Or(b.Budgets[i], others.Budgets[i])
	}
	return b
}

// Figure is the bound of a metric; of money, the period's budget. 0 is no bound.
func (b Bounds) Figure(metric Metric, period Period) int64 {
	if metric == Money {
		return b.Budgets[period.place()]
	}
	return b.Figures[metric]
}

// Budgeted reports whether money is bounded.
func (b Bounds) Budgeted() bool { return b.Budgets != [2]int64{} }

// Subject is whom a request is counted against.
type Subject struct {
	Scope Scope
	// ID is the key's identifier, the owner's name or the pattern of the models.
	ID string
	Bounds
}

// Claim is what one request asks of the limits, and what it holds of them once it is
// admitted. It belongs to the store until it is settled.
type Claim struct {
	// Subjects are at most one of each scope; none means no limits.
	Subjects []Subject
	// Amount is the least that admits the request. Once it is admitted, Cost is what it holds.
	Amount
	// UpTo is the money that the request would take: all of it, or as much above Cost as its budgets have left.
	UpTo int64

	// What follows is the store's.

	// ID identifies a claim among the claims of several processes.
	ID string
	// Holds are the amounts held of the subjects' rates that are settled.
	Holds [maxSubjects]Holds
	// Starts are the beginnings of the day and the month that pay, in seconds since
	// 1970.
	Starts [2]int64
	// Local reports that this process admitted the request by its own count, since the
	// store that it shares with others did not answer.
	Local bool

	state    atomic.Int32 // of the reservation
	subjects [maxSubjects]Subject
	accounts [maxSubjects]*account
}

// Holds are the amounts held of one subject's rates that are settled.
type Holds [rates - Tokens]Hold

// Of is what is held of a rate that is settled.
func (h *Holds) Of(rate Metric) *Hold { return &h[rate-Tokens] }

// Hold is how much was taken of a meter. The last part of it, which was taken at the
// mark, may be returned.
type Hold struct {
	Taken, Last int64
	Mark
}

// Extend has more be held, whose mark is not known: so none of it can be returned.
func (h *Holds) Extend(more Amount) {
	for m := Tokens; m < rates; m++ {
		if n := more.Of(m); n > 0 {
			hold := h.Of(m)
			hold.Taken, hold.Last = amount.Bound(amount.Sum(hold.Taken, n)), 0
		}
	}
}

// plus is a hold of more, just taken.
func (h Hold) plus(charge int64, m Meter) Hold {
	return Hold{Taken: amount.Bound(amount.Sum(h.Taken, charge)), Last: charge, Mark: Mark{Free: m.Free, Part: m.Part, Returned: m.Returned}}
}

const maxSubjects = 3

// Figures are what a caller has left of a limit a minute.
type Figures struct {
	// Limit is 0 where there is none.
	Limit, Remaining int64
	// Reset is how long it takes until the limit is unused again.
	Reset time.Duration
}

// Standing is what a caller has left: of each limit a minute, at the subject with
// the least left; and with its fullest budget.
type Standing struct {
	Rates [rates]Figures
	Money Fill
}

// Fill is how full a budget is, in nano-dollars, before the request that asks.
type Fill struct {
	// Limit is 0 where there is no budget.
	Limit, Spent int64
	Scope        Scope
	Period       Period
	// End is when the budget is reset.
	End time.Time
}

// note takes one more budget.
func (f *Fill) note(s *Subject, place int, spent, start int64) {
	most := s.Budgets[place]
	if f.Limit != 0 && float64(max(spent, 0))/float64(most) <= float64(f.Spent)/float64(f.Limit) {
		return
	}
	period := Periods[place]
	*f = Fill{Limit: most, Spent: max(spent, 0), Scope: s.Scope, Period: period, End: period.End(time.Unix(start, 0))}
}

// note takes the figures of one more subject.
func (f *Figures) note(m Meter, rate, now int64) {
	left := m.Left(rate, now)
	if f.Limit == 0 || left < f.Remaining {
		*f = Figures{Limit: rate, Remaining: left, Reset: time.Duration(max(m.Free-now, 0)) * time.Microsecond}
	}
}

// Refusal is the error of a request that a limit does not admit. Of several, it is the
// one that lasts longest.
type Refusal struct { //nolint:errname // it is what the limits answer, as Standing is
	Scope  Scope
	Metric Metric
	// Limit is the limit's figure; of money, in nano-dollars. Of tokens that are never
	// admitted it is MaxTokens.
	Limit int64
	// Share is how much of Limit this core admits by itself while the store that cores share
	// does not answer; 0 while it does, and Limit is admitted.
	Share int64
	// Period and End belong to a budget; there is no End to wait for where Never is set.
	Period Period
	End    time.Time
	// Held reports that the budget is not spent: requests under way hold what the
	// refused one would need.
	Held bool
	// Never reports that the request asks for more than the limit ever admits: it costs
	// more than the whole budget, or claims more than MaxTokens. After is 0 then.
	Never bool
	// Asked is what the request would have taken.
	Asked int64
	// After is how long to wait before another try.
	After time.Duration
	// Standing is what the caller has left, as for an admitted claim.
	Standing Standing
}

func (r *Refusal) Error() string {
	return "limit: the " + r.Scope.String() + "'s limit of " + r.Metric.String() + " is reached"
}

// Rules are the limits that an operator has set for many at once.
type Rules struct {
	// Keys bound each key by itself, where the key's own limits leave something open.
	Keys Limits
	// Owners bound all keys of an owner together, each owner by itself. The first rule
	// that matches counts.
	Owners []Rule
	// Models bound all requests for the models that a rule matches together. The first
	// that matches counts.
	Models []Rule
	// OutputTokens are reserved of the tokens a minute for a request that sets no maximum of its own. A budget that has not
	// as many left refuses it.
	OutputTokens int64
	// AllowUnpriced admits requests of budgeted keys and owners for models without a
	// price. They count for nothing then.
	AllowUnpriced bool
}

// Rule is limits for names.
type Rule struct {
	// Pattern is a name or a glob: * is any run of characters.
	Pattern string
	Limits
}

// rules are Rules, ready for use.
type rules struct {
	Rules

	keys           Bounds
	owners, models matched
}

// matched are rules, and which of them a name is under.
type matched struct {
	rules []rule
	index *glob.Index
}

type rule struct {
	pattern string
	bounds  Bounds
}

func (r Rules) compile() *rules {
	return &rules{Rules: r, keys: r.Keys.bounds(), owners: compile(r.Owners), models: compile(r.Models)}
}

func compile(list []Rule) matched {
	var m matched
	patterns := make([]string, len(list))
	for i, r := range list {
		m.rules, patterns[i] = append(m.rules, rule{r.Pattern, r.bounds()}), r.Pattern
	}
	m.index = glob.NewIndex(patterns)
	return m
}

// of returns the first rule that a name is under; nil for none.
func (m *matched) of(name string) *rule {
	if i := m.index.First(name, nil); i >= 0 {
		return &m.rules[i]
	}
	return nil
}

// Who is whom a request is counted against.
type Who struct {
	// KeyID is the key's identifier, Owner its owner; empty for none.
	KeyID, Owner string
	// Model is the model asked for; empty for requests that name none.
	Model string
	// Limits are the key's own.
	Limits Limits
	// Brief requests take no place of those that run at once: they are answered also while the others hold all places.
	Brief bool
}

// subjects fills in the subjects whose limits a request is held to. Keys and owners are there
// without limits too, so that what they spend is known when they are given a budget.
func (r *rules) subjects(claim *Claim, who Who) {
	list := claim.subjects[:0]
	if who.KeyID != "" {
		list = append(list, Subject{Key, who.KeyID, who.Limits.bounds().or(r.keys)})
	}
	if who.Owner != "" {
		s := Subject{Scope: Owner, ID: who.Owner}
		if found := r.owners.of(who.Owner); found != nil {
			s.Bounds = found.bounds
		}
		list = append(list, s)
	}
	if found := r.models.of(who.Model); found != nil && who.Model != "" {
		list = append(list, Subject{Model, found.pattern, found.bounds})
	}
	if who.Brief {
		for i := range list {
			list[i].Figures[Concurrent] = 0
		}
	}
	claim.Subjects = list
}
