package shared

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/limit"
)

// budget names what is spent of a subject in a period.
type budget struct {
	scope limit.Scope
	id    string
	place int
	start int64
}

// known is the money of budgets as far as this core knows.
type known struct {
	mu     sync.Mutex
	all    map[budget]money
	newest [2]int64
	// local counts what this process admits while the server does not answer.
	local *limit.Memory
}

// money is what is known of one budget.
type money struct {
	// all is what all cores had spent and held when the server answered last, for the time when it does not answer. Once a
	// request was admitted locally, counted is set: the memory that counts then goes on from all.
	all     int64
	counted bool
	// own is what requests of this process have cost since it began, also those that the budget did not bound: it may be
	// set later.
	own int64
	// changed is when this process last spent something.
	changed time.Time
}

func newKnown(local *limit.Memory) *known {
	return &known{all: map[budget]money{}, local: local}
}

// set notes what all cores have spent.
func (k *known) set(b budget, spent int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.at(b)
	m.all, m.counted = spent, false
	k.all[b] = m
}

// get returns what is known of a budget.
func (k *known) get(b budget) money {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[b]
}

// count has the memory go on from what is known of a budget, and returns that.
func (k *known) count(b budget) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.at(b)
	if !m.counted {
		k.local.Seed(b.scope, b.id, limit.Periods[b.place], time.Unix(b.start, 0), m.all)
		m.counted = true
		k.all[b] = m
	}
	return m.all
}

// spend adds to what this process has spent, and returns the sum. A request that did not have the budget is unbound: what it
// spends is part of nothing that is known yet. One that is local, the memory counts.
func (k *known) spend(b budget, cost int64, unbound, local bool) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.at(b)
	if cost == 0 {
		return m.own
	}
	m.own, m.changed = amount.Bound(amount.Sum(m.own, cost)), time.Now()
	if unbound {
		m.all = amount.Bound(amount.Sum(m.all, cost))
		if m.counted && !local {
			k.local.Spend(b.scope, b.id, b.place, b.start, cost)
		}
	}
	k.all[b] = m
	return m.own
}

// at returns what is known of a budget. When a period begins, what is known of those before is forgotten, unless requests
// that began in them may still run: the server keeps it for keepFor.
func (k *known) at(b budget) money {
	if b.start > k.newest[b.place] {
		k.newest[b.place] = b.start
		maps.DeleteFunc(k.all, func(other budget, m money) bool {
			return other.place == b.place && other.start < b.start && time.Since(m.changed) > keepFor
		})
	}
	return k.all[b]
}

// changedSince returns what this process has spent of budgets of which it spent something since a time.
func (k *known) changedSince(at time.Time) map[budget]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := map[budget]int64{}
	for b, m := range k.all {
		if !m.changed.Before(at) {
			own[b] = m.own
		}
	}
	return own
}

// learn records what a script has answered of a subject's money.
func (s *Store) learn(b *limit.Subject, state *limit.State, claim *limit.Claim) {
	for p, most := range b.Budgets {
		if most > 0 {
			s.known.set(budget{b.Scope, b.ID, p, claim.Starts[p]}, state.Money[p].Spent+state.Money[p].Held)
		}
	}
}

// spend counts what a request has cost, and returns what this process has spent in all of the periods that pay for it.
func (s *Store) spend(claim *limit.Claim, cost int64) spender {
	by := spender{process: s.config.Process, now: s.config.Clock()}
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		s.fills.Spend(b, claim.Starts, cost)
		if b.Scope == limit.Model {
			continue
		}
		for p, start := range claim.Starts {
			by.spent[i][p] = s.known.spend(budget{b.Scope, b.ID, p, start}, cost, b.Budgets[p] == 0, claim.Local)
		}
	}
	return by
}

// errLedger is a question that the ledger, and not the shared store, did not answer.
var errLedger = errors.New("limit: the ledger cannot be asked")

// seedWithin bounds a question to the ledger.
const seedWithin = 5 * time.Second

// ledger calls yield with what each budget of a period, or the budget of only, has been spent of by each process.
func (s *Store) ledger(ctx context.Context, place int, start int64, only *limit.Subject, yield func(b budget, process string, spent int64)) error {
	ctx, cancel := context.WithTimeout(ctx, seedWithin)
	defer cancel()
	err := s.config.Spent.Each(ctx, time.Unix(start, 0), only, func(scope limit.Scope, id, process string, spent int64) {
		yield(budget{scope, id, place, start}, process, spent)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return nil
}

// seed sends the server what was spent of a claim's budgets that it does not have.
func (s *Store) seed(ctx context.Context, claim *limit.Claim, states []limit.State, now time.Time) error {
	c := &call{args: []any{"first"}}
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		for p, most := range b.Budgets {
			if most == 0 || states[i].Money[p].Spent >= 0 {
				continue
			}
			// The ledger may not have yet what this process has just spent.
			of := budget{b.Scope, b.ID, p, claim.Starts[p]}
			s.keys.seeding(c, of, s.config.Process, s.known.get(of).own, now)
			err := s.ledger(ctx, p, claim.Starts[p], b, func(of budget, process string, spent int64) {
				s.keys.seeding(c, of, process, spent, now)
			})
			if err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	_, err := seedScript.run(ctx, s.client, c.keys, c.args...)
	return err
}

// begin reads the ledger at the start: what a core spent that was killed before it could
// settle is added on the server.
func (s *Store) begin(ctx context.Context) error {
	now := s.config.Clock()
	all := map[budget]int64{}
	var calls []*call
	for p, period := range limit.Periods {
		err := s.ledger(ctx, p, period.Start(now).Unix(), nil, func(b budget, process string, spent int64) {
			all[b] = amount.Bound(amount.Sum(all[b], spent))
			calls = append(calls, s.keys.seeding(&call{}, b, process, spent, now))
		})
		if err != nil {
			return err
		}
	}
	for b, spent := range all {
		s.known.set(b, spent)
	}
	s.inTurn(ctx, seedScript, "raise", slices.Values(calls)) // otherwise the policy holds
	return nil
}

// lostWithin is for how long a server may not have kept what it has answered: a primary that ends without
// having sent it to its replica, or a server that writes its file once a second.
const lostWithin = time.Minute

// restore has the server know what this process holds, and what it has spent lately: it may have lost that. It reports whether
// the server answered.
func (s *Store) restore(ctx context.Context) bool {
	now, since := s.config.Clock(), s.lostAt.Load().Add(-lostWithin)
	return s.renew(ctx) && s.inTurn(ctx, seedScript, "raise", func(yield func(*call) bool) {
		for b, own := range s.known.changedSince(since) {
			if !yield(s.keys.seeding(&call{}, b, s.config.Process, own, now)) {
				return
			}
		}
	})
}

// assume has the fills know of subjects whose money the server was not asked for.
func (s *Store) assume(claim *limit.Claim) {
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		var spent [2]int64
		for p := range spent {
			spent[p] = s.known.get(budget{b.Scope, b.ID, p, claim.Starts[p]}).all
		}
		s.fills.Assume(b, claim.Starts, spent)
	}
}

// Fills is what is spent of budgets: what the server answered last, and what this core's requests
// have cost since.
func (s *Store) Fills() *limit.Fills { return &s.fills }
