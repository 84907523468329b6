package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// known is what is spent as far as this core knows, for the time when the server does
// not answer.
type known struct {
	mu      sync.Mutex
	spent   map[budget]int64
	newest  [2]int64
	counted *limit.Memory
}

func newKnown(counted *limit.Memory) *known {
	return &known{spent: map[budget]int64{}, counted: counted}
}

// set notes what is spent. What is known of periods before is forgotten.
func (k *known) set(b budget, spent int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if b.start > k.newest[b.place] {
		k.newest[b.place] = b.start
		for other := range k.spent {
			if other.place == b.place && other.start < b.start {
				delete(k.spent, other)
			}
		}
	}
	k.spent[b] = spent
	k.counted.Seed(b.scope, b.id, limit.Periods[b.place], time.Unix(b.start, 0), spent)
}

func (k *known) get(b budget) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spent[b]
}

// learn records what a script has answered of a subject's money.
func (s *Store) learn(b *limit.Subject, state *limit.State, claim *limit.Claim) {
	for p, most := range b.Budgets {
		if most > 0 {
			s.known.set(budget{b.Scope, b.ID, p, claim.Starts[p]}, state.Money[p].Spent+state.Money[p].Held)
		}
	}
}

// seeds is what the ledger says was spent in a period.
type seeds struct {
	begun atomic.Int64
	mu    sync.Mutex
	spent map[budget]int64
}

// errLedger is a question that the ledger, and not the shared store, did not answer.
var errLedger = errors.New("limit: the ledger cannot be asked")

// seedWithin bounds a question to the ledger.
const seedWithin = 5 * time.Second

// ledger gives what was spent in a period. One answer serves all who wait for it, and each
// gets one that began after it came, so that nothing is missing that it knows of.
func (s *Store) ledger(ctx context.Context, place int, start int64) (map[budget]int64, error) {
	from := &s.seeds[place]
	before := from.begun.Load()
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.begun.Load() != before && from.spent != nil {
		return from.spent, nil
	}
	from.begun.Add(1)
	from.spent = nil
	ctx, cancel := context.WithTimeout(ctx, seedWithin)
	defer cancel()
	spent := map[budget]int64{}
	err := s.config.Spent.Each(ctx, time.Unix(start, 0), func(scope limit.Scope, id string, cost int64) {
		spent[budget{scope, id, place, start}] = cost
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLedger, err)
	}
	from.spent = spent
	return spent, nil
}

// spent gives what the ledger says was spent of one budget.
func (s *Store) spent(ctx context.Context, b budget) (int64, error) {
	if s.config.SpentBy == nil {
		all, err := s.ledger(ctx, b.place, b.start)
		return all[b], err
	}
	ctx, cancel := context.WithTimeout(ctx, seedWithin)
	defer cancel()
	spent, err := s.config.SpentBy(ctx, b.scope, b.id, time.Unix(b.start, 0))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errLedger, err)
	}
	return amount.Bound(spent), nil
}

// seed sends the server what was spent of those of a claim's budgets that it does not have.
func (s *Store) seed(ctx context.Context, claim *limit.Claim, states []limit.State, now time.Time) error {
	c := &call{args: []any{"first"}}
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		for p, most := range b.Budgets {
			if most == 0 || states[i].Money[p].Spent >= 0 {
				continue
			}
			spent, err := s.spent(ctx, budget{b.Scope, b.ID, p, claim.Starts[p]})
			if err != nil {
				return err
			}
			hash, _ := s.keys.money(b, p, claim.Starts[p])
			c.key(hash)
			c.arg(spent, ttl(p, claim.Starts[p], now))
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
	c := &call{}
	for p, period := range limit.Periods {
		spent, err := s.ledger(ctx, p, period.Start(now).Unix())
		if err != nil {
			return err
		}
		for b, cost := range spent {
			s.known.set(b, cost)
			hash, _ := s.keys.money(&limit.Subject{Scope: b.scope, ID: b.id}, b.place, b.start)
			c.key(hash)
			c.arg(cost, ttl(b.place, b.start, now))
		}
	}
	for first := true; first || len(c.keys) > 0; first = false {
		n := min(len(c.keys), renewAtOnce)
		within, cancel := context.WithTimeout(ctx, s.config.Timeout)
		_, err := seedScript.run(within, s.client, c.keys[:n], append([]any{"raise"}, c.args[:2*n]...)...)
		cancel()
		if err != nil {
			s.lost(err)
			break
		}
		c.keys, c.args = c.keys[n:], c.args[2*n:]
	}
	return nil
}

// assume has the fills know of subjects whose money the server was not asked for.
func (s *Store) assume(claim *limit.Claim) {
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		var spent [2]int64
		for p := range spent {
			spent[p] = s.known.get(budget{b.Scope, b.ID, p, claim.Starts[p]})
		}
		s.fills.Assume(b, claim.Starts, spent)
	}
}

// Fills is what is spent of budgets: what the server answered last, and what this core's requests
// have cost since.
func (s *Store) Fills() *limit.Fills { return &s.fills }
