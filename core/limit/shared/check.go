package shared

import (
	"fmt"
	"slices"
	"time"

	"github.com/genway/genway/core/limit"
)

// keys names what is kept. All names have one hash tag, so that a script's keys are on
// one node of a cluster: it takes all limits of a request in one step.
type keys struct{ prefix string }

func (k keys) of(kind string, s *limit.Subject) string {
	return "{" + k.prefix + "}:" + kind + ":" + s.Scope.String() + ":" + s.ID
}

func (k keys) rate(m limit.Metric, s *limit.Subject) string { return k.of(m.String(), s) }
func (k keys) running(s *limit.Subject) string              { return k.of("running", s) }

// settled is the key of the number of the last settlement that a process has sent.
func (k keys) settled(process string) string { return "{" + k.prefix + "}:told:" + process }

// probe is the key of the meter that finds out whether the server counts.
func (k keys) probe() string { return "{" + k.prefix + "}:probe" }

// money is what is spent and held of a budget, by processes and claims, and the claims that hold it.
func (k keys) money(s *limit.Subject, place int, start int64) (hash, leases string) {
	period := limit.Periods[place]
	day := time.Unix(start, 0).UTC().Format(time.DateOnly)
	hash = k.of("money:"+string(period)+":"+day, s)
	return hash, hash + ":held"
}

// keepFor is how long figures of a period are kept after its end, for requests that
// began in it.
const keepFor = 24 * time.Hour

// ttl is how long the figures of a period are kept, in milliseconds.
func ttl(place int, start int64, now time.Time) int64 {
	return limit.Periods[place].End(time.Unix(start, 0)).Add(keepFor).Sub(now).Milliseconds()
}

// call is the keys and arguments of a script.
type call struct {
	keys []string
	args []any
}

func (c *call) key(names ...string) { c.keys = append(c.keys, names...) }
func (c *call) arg(values ...any)   { c.args = append(c.args, values...) }

// bounded reports whether there is anything to ask the server for.
func bounded(claim *limit.Claim) bool {
	for i := range claim.Subjects {
		if claim.Subjects[i].Bounds != (limit.Bounds{}) {
			return true
		}
	}
	return false
}

// budgeted reports whether money bounds the claim.
func budgeted(claim *limit.Claim) bool {
	return slices.ContainsFunc(claim.Subjects, func(s limit.Subject) bool { return s.Budgeted() })
}

// reserving are the checks of a claim, in the order in which read finds their answers.
func (k keys) reserving(claim *limit.Claim, lease time.Duration, now time.Time) *call {
	c := &call{args: []any{claim.ID, lease.Microseconds()}}
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		for m := range limit.Concurrent {
			if s.Figures[m] > 0 {
				c.key(k.rate(m, s))
				c.arg("rate", s.Figures[m], s.Charge(m, claim))
			}
		}
		if most := s.Figures[limit.Concurrent]; most > 0 {
			c.key(k.running(s))
			c.arg("many", most)
		}
		for p, most := range s.Budgets {
			if most > 0 {
				c.key(k.money(s, p, claim.Starts[p]))
				c.arg("money", most, claim.Cost, claim.UpTo, ttl(p, claim.Starts[p], now))
			}
		}
	}
	return c
}

// answer is what the reserving script returns: a word, the server's time and the states.
type answer struct {
	word   string
	now    int64
	states [3]limit.State
}

// read takes the script's answer apart.
func read(raw any, claim *limit.Claim) (*answer, error) {
	list, ok := raw.([]any)
	if !ok || len(list) < 2 {
		return nil, fmt.Errorf("limit: the shared store answers with %T", raw)
	}
	word, ok := list[0].(string)
	if !ok {
		return nil, fmt.Errorf("limit: the shared store answers with a %T", list[0])
	}
	a := &answer{word: word}
	figures := make([]int64, 0, len(list)-1)
	for _, v := range list[1:] {
		n, ok := v.(int64)
		if !ok {
			return nil, fmt.Errorf("limit: the shared store answers with a %T", v)
		}
		figures = append(figures, n)
	}
	a.now = figures[0]
	figures = figures[1:]
	next := func(into ...*int64) {
		for _, v := range into {
			if len(figures) > 0 {
				*v, figures = figures[0], figures[1:]
			}
		}
	}
	for i := range claim.Subjects {
		s, state := &claim.Subjects[i], &a.states[i]
		for rate := range state.Rates {
			if m := &state.Rates[rate]; s.Figures[rate] > 0 {
				next(&m.Free, &m.Part, &m.Returned, &m.Rate)
			}
		}
		if s.Figures[limit.Concurrent] > 0 {
			next(&state.Running)
		}
		for p, most := range s.Budgets {
			if most > 0 {
				next(&state.Money[p].Spent, &state.Money[p].Held)
			}
		}
	}
	return a, nil
}

// spender is this process, and what it has spent in all of the periods that pay for a claim, by subject and place.
type spender struct {
	process string
	spent   [3][2]int64
	now     time.Time
}

// settling puts what a request took in place of its claim, and what the process has spent in all in place of what was
// known of that. So the server need not know which requests that is the sum of: it may have lost its data, or have got
// some of them from the ledger. A claim that this core admitted locally holds no tokens and no place on the
// server: only what was spent counts.
func (k keys) settling(claim *limit.Claim, actual limit.Amount, by spender) *call {
	c := &call{}
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		for m := limit.Tokens; m < limit.Concurrent; m++ {
			if h := claim.Holds[i].Of(m); s.Figures[m] > 0 && !claim.Local {
				c.key(k.rate(m, s))
				c.arg("rate", h.Taken, h.Last, h.Free, h.Part, h.Returned, actual.Of(m), s.Figures[m])
			}
		}
		if s.Figures[limit.Concurrent] > 0 {
			c.key(k.running(s))
			c.arg("many")
		}
		for p, most := range s.Budgets {
			switch hash, leases := k.money(s, p, claim.Starts[p]); {
			case most > 0:
				c.key(hash, leases)
				c.arg("money", by.process, by.spent[i][p], ttl(p, claim.Starts[p], by.now))
			case actual.Cost > 0 && s.Scope != limit.Model:
				c.key(hash)
				c.arg("spent", by.process, by.spent[i][p])
			}
		}
	}
	return c
}

// seeding adds to a call of the seeding script what a process has spent of a budget, and returns the call.
func (k keys) seeding(c *call, b budget, process string, spent int64, now time.Time) *call {
	hash, _ := k.money(&limit.Subject{Scope: b.scope, ID: b.id}, b.place, b.start)
	c.key(hash)
	c.arg(ttl(b.place, b.start, now), process, spent)
	return c
}

// extending takes more for a claim, which holds it already. One that held no money until now gets a lease too.
func (k keys) extending(claim *limit.Claim, more limit.Amount, lease time.Duration, now time.Time) *call {
	c := &call{}
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		for m := limit.Tokens; m < limit.Concurrent; m++ {
			if n := more.Of(m); s.Figures[m] > 0 && n > 0 {
				c.key(k.rate(m, s))
				c.arg("more-rate", n, s.Figures[m])
			}
		}
		for p, most := range s.Budgets {
			if most > 0 && more.Cost > 0 {
				c.key(k.money(s, p, claim.Starts[p]))
				c.arg("more-money", claim.Cost, lease.Microseconds(), ttl(p, claim.Starts[p], now))
			}
		}
	}
	return c
}

// renewing is what a claim holds by leases.
func (k keys) renewing(claim *limit.Claim, now time.Time) *call {
	c := &call{}
	for i := range claim.Subjects {
		s := &claim.Subjects[i]
		if s.Figures[limit.Concurrent] > 0 {
			c.key(k.running(s))
			c.arg("many", claim.ID)
		}
		for p, most := range s.Budgets {
			if most > 0 && claim.Cost > 0 {
				c.key(k.money(s, p, claim.Starts[p]))
				c.arg("money", claim.ID, claim.Cost, ttl(p, claim.Starts[p], now))
			}
		}
	}
	return c
}
