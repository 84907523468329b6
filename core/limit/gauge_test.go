package limit_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
)

// Gauges report what is used of the limits of a key and its owner, before, while and after a request
// runs, and take nothing, however often they are read.
func TestGauges(t *testing.T) {
	c := clockAt(start)
	l := c.limiter(limit.Rules{
		Keys:   limit.Limits{Concurrent: 5},
		Owners: []limit.Rule{{Pattern: "te*", Limits: limit.Limits{RequestsPerMinute: 120, Budgets: []limit.Budget{{Amount: 7, Period: limit.Day}}}}},
		Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{Concurrent: 1000}}},
	})
	w := who(limit.Limits{RequestsPerMinute: 3, TokensPerMinute: 60, Budgets: []limit.Budget{{Amount: 9, Period: limit.Month}}})
	check := func(when string, requests, tokens, running, ofOwner int64) {
		t.Helper()
		for range 100 { // takes nothing
			got, err := l.Gauges(t.Context(), w)
			want := []limit.Gauge{
				{Scope: limit.Key, ID: "key_a", Metric: limit.Requests, Most: 3, Used: requests, Known: true},
				{Scope: limit.Key, ID: "key_a", Metric: limit.Tokens, Most: 60, Used: tokens, Known: true},
				{Scope: limit.Key, ID: "key_a", Metric: limit.Concurrent, Most: 5, Used: running, Known: true},
				{Scope: limit.Key, ID: "key_a", Metric: limit.Money, Period: limit.Month, Most: 9},
				{Scope: limit.Owner, ID: "team", Metric: limit.Requests, Most: 120, Used: ofOwner, Known: true},
				{Scope: limit.Owner, ID: "team", Metric: limit.Money, Period: limit.Day, Most: 7},
			}
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %+v, %v", when, got, err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: %+v, want %+v", when, got[i], want[i])
				}
			}
		}
	}
	check("before", 0, 0, 0, 0)
	r, refusal := ask(t, l, w, limit.Amount{Tokens: 1000, Cost: 2})
	if refusal != nil {
		t.Fatal(refusal)
	}
	check("while it runs", 1, 60, 1, 1)
	r.Settle(limit.Amount{Tokens: 20, Cost: 2})
	check("after", 1, 20, 0, 1)
	c.pass(time.Second)
	check("a second later", 1, 19, 0, 0)
	c.pass(time.Hour)
	check("later", 0, 0, 0, 0)
	r, _ = ask(t, l, w, limit.Amount{})
	r.Settle(limit.Amount{Tokens: 1 << 62})
	check("in debt", 1, 60, 0, 1)
	if got, err := l.Gauges(t.Context(), limit.Who{KeyID: "key_b", Owner: "others"}); err != nil || len(got) != 1 || got[0].Metric != limit.Concurrent || got[0].Used != 0 {
		t.Errorf("another key: %+v, %v", got, err)
	}
	var none *limit.Limiter
	if got, err := none.Gauges(t.Context(), w); got != nil || err != nil {
		t.Errorf("without limits: %+v, %v", got, err)
	}
}
