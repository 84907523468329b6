//go:build unix

package shared_test

import (
	"context"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/servers"
)

// fillOf returns the fill of the fullest monthly budget of a key; -1 for none.
func fillOf(s *shared.Store) (fill float64) {
	fill = -1
	s.Fills().Each(time.Now(), func(scope, period string, is float64) {
		if scope == "key" && period == "month" {
			fill = is
		}
	})
	return fill
}

// The fill of a budget is up to date when a request ends, while the server is away too, and when
// all that comes is refused; a core that starts while it is away begins with what the ledger knows.
func TestFillsAreUpToDate(t *testing.T) {
	server := servers.NewRedis(t)
	local := func(c *shared.Config) {
		c.Policy, c.Timeout = shared.Policy{Local: true, Share: 0.5}, answerWithin
	}
	s := store(t, server, local)
	t.Cleanup(func() { closed(t, s) })
	spend := func(s *shared.Store, cost int64, want float64) {
		t.Helper()
		r, refusal := ask(t, limit.New(s, limit.Rules{}), who(budget(1000)), limit.Amount{Cost: cost + 5})
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		r.Settle(limit.Amount{Cost: cost})
		if got := fillOf(s); got != want {
			t.Errorf("after a request that cost %d, the fill is %v, want %v", cost, got, want)
		}
	}
	spend(s, 100, 0.1)
	server.Kill()
	spend(s, 50, 0.15) // which finds out
	spend(s, 150, 0.3)
	if !s.Unavailable() {
		t.Fatal("a server that was killed answers")
	}
	late := store(t, server, func(c *shared.Config) {
		local(c)
		c.Spent = func(context.Context, time.Time, string, string) ([]limit.Spend, error) {
			return []limit.Spend{{KeyID: "key_a", Cost: 300}}, nil
		}
	})
	t.Cleanup(func() { closed(t, late) })
	if got := fillOf(late); got != -1 {
		t.Errorf("of a core that nobody has asked, the fill is %v", got)
	}
	spend(late, 100, 0.4)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for _, each := range []*shared.Store{s, late} {
		waitFor(t, func() bool { return !each.Unavailable() })
	}
}

// A core whose requests are all refused, since others have spent the budget, reports it as spent.
func TestFillsOfARefusedKey(t *testing.T) {
	server := servers.SharedRedis(t)
	var cores [2]*shared.Store
	for i := range cores {
		cores[i] = store(t, server, nil)
		t.Cleanup(func() { closed(t, cores[i]) })
	}
	r, refusal := ask(t, limit.New(cores[0], limit.Rules{}), who(budget(1000)), limit.Amount{Cost: 1000})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	r.Settle(limit.Amount{Cost: 1000})
	waitFor(t, func() bool {
		_, refusal := ask(t, limit.New(cores[1], limit.Rules{}), who(budget(1000)), limit.Amount{Cost: 1})
		return refusal != nil && !refusal.Held
	})
	if got := fillOf(cores[1]); got != 1 {
		t.Errorf("the fill is %v", got)
	}
	memory := limit.NewMemory(nil)
	memory.Seed(limit.Key, "key_a", limit.Month, time.Now(), 1000)
	if _, refusal := ask(t, limit.New(memory, limit.Rules{}), who(budget(1000)), limit.Amount{Cost: 1}); refusal == nil {
		t.Error("a request is admitted without money")
	}
	seen := false
	memory.Fills().Each(time.Now(), func(scope, period string, fill float64) {
		seen = seen || scope == "key" && period == "month" && fill == 1
	})
	if !seen {
		t.Error("a process of its own does not know that the budget of a refused key is spent")
	}
}
