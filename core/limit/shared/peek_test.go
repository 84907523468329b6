//go:build unix

package shared_test

import (
	"context"
	"errors"
	"testing"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/servers"
)

// A core reports what another one uses of shared limits, takes nothing by it, and reports that it
// does not know once the server is unavailable, whatever the policy.
func TestGauges(t *testing.T) {
	server := servers.NewRedis(t)
	local := func(c *shared.Config) { c.Policy = shared.Policy{Local: true, Share: 1} }
	one, two := store(t, server, local), store(t, server, local)
	t.Cleanup(func() {
		_ = one.Close() // the server is unavailable
		_ = two.Close()
	})
	// A rate of which nothing is given back within a test.
	w := who(limit.Limits{RequestsPerMinute: 1, TokensPerMinute: 2, Concurrent: 3, Budgets: []limit.Budget{{Amount: 9, Period: limit.Month}}})
	limits := limit.New(two, limit.Rules{})
	check := func(when string, known bool, used ...int64) {
		t.Helper()
		for range 3 {
			got, err := limits.Gauges(t.Context(), w)
			if err != nil || len(got) != 4 {
				t.Fatalf("%s: %+v, %v", when, got, err)
			}
			for i, want := range used {
				if got[i].Used != want || got[i].Known != known {
					t.Errorf("%s: %+v, want %d", when, got[i], want)
				}
			}
			if got[3].Metric != limit.Money || got[3].Known || got[3].Most != 9 {
				t.Errorf("%s: %+v", when, got[3])
			}
		}
	}
	check("before", true, 0, 0, 0)
	r, refusal := ask(t, limit.New(one, limit.Rules{}), w, limit.Amount{Tokens: 2, Cost: 1})
	if refusal != nil {
		t.Fatal(refusal)
	}
	check("while it runs elsewhere", true, 1, 2, 1)
	r.Settle(limit.Amount{Tokens: 2, Cost: 1})
	waitFor(t, func() bool {
		got, err := limits.Gauges(t.Context(), w)
		return err == nil && got[2].Known && got[2].Used == 0
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := limits.Gauges(ended, w); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	server.End()
	check("without the server", false, 0, 0, 0)
}
