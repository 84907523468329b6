package core_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// input is what a test's request puts in, as estimated.
const input = 5

// stopped is a clock that does not move: nothing of a minute passes.
func stopped() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
}

// A request reserves exactly so much: one nano-dollar less in the budget refuses it, and
// one token less a minute.
func TestReservations(t *testing.T) {
	targets := map[string][]string{"cheap first": {"m", "triple"}, "dear first": {"triple", "m"}, "one of them unpriced": {"m", "unpriced"}}
	for _, c := range []struct {
		name         string
		model        string
		most         *int64
		candidates   int32
		tokens, cost int64
	}{
		{"the output that it asks for", "m", new(int64(100)), 0, input + 100, input + 100},
		{"none", "m", new(int64(0)), 0, input, input},
		{"what the rules say where it asks for none", "m", nil, 0, input + 700, input + 700},
		{"the output of all candidates", "m", new(int64(100)), 4, input + 400, input + 400},
		{"what the rules say for each candidate", "m", nil, 3, input + 2100, input + 2100},
		{"by the dearest target, which comes last", "cheap first", new(int64(100)), 0, input + 100, 3 * (input + 100)},
		{"by the dearest target, which comes first", "dear first", new(int64(100)), 0, input + 100, 3 * (input + 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 100_000
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
			l.targets = targets
			req := request()
			req.Model, req.MaxOutputTokens = c.model, c.most
			if c.candidates > 0 {
				req.Sampling = &genwayv1.Sampling{CandidateCount: &c.candidates}
			}
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.cost+1)
			if _, err := l.client.GenerateText(asKey(t), req); err == nil || detail(t, err).GetReason() != core.ReasonBudget {
				t.Errorf("with a nano-dollar too little: %v", err)
			}
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.cost)
			if _, err := l.client.GenerateText(asKey(t), req); err != nil {
				t.Errorf("with just enough money: %v", err)
			}
			// Another takes the rest of the minute, or a token more.
			for more, reason := range map[int64]string{1: core.ReasonTokens, 0: ""} {
				l := serveLimitedAt(t, keys.Policy{Limits: limit.Limits{TokensPerMinute: 10_000}}, limit.Rules{OutputTokens: 700}, stopped())
				l.targets, l.hold = targets, make(chan struct{})
				filled := make(chan error, 1)
				go func() {
					_, err := l.client.GenerateText(asKey(t), tokens(10_000-c.tokens+more-input))
					filled <- err
				}()
				if err := l.await(t, 1, filled); err != nil {
					t.Fatal(err)
				}
				asked := make(chan error, 1)
				go func() {
					_, err := l.client.GenerateText(asKey(t), req)
					asked <- err
				}()
				got := ""
				if err := l.await(t, 2, asked); err != nil {
					got = detail(t, err).GetReason()
				}
				if got != reason {
					t.Errorf("with %d tokens too few: %q", more, got)
				}
				close(l.hold)
				if err := <-filled; err != nil {
					t.Error(err)
				}
			}
		})
	}
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1000, Period: limit.Day}}}}, limit.Rules{})
	l.targets = targets
	req := tokens(1)
	req.Model = "one of them unpriced"
	if _, err := l.client.GenerateText(asKey(t), req); detail(t, err).GetReason() != core.ReasonModelUnpriced {
		t.Errorf("where one target has no price: %v", err)
	}
}

// await waits until so many calls have reached the upstream, or one has ended: then it
// gives its error.
func (l *limited) await(t *testing.T, calls int64, ended ...<-chan error) error {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); l.calls.Load() < calls; <-tick.C {
		for _, one := range ended {
			select {
			case err := <-one:
				return err
			default:
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls have come, want %d", l.calls.Load(), calls)
		}
	}
	return nil
}

// An answer that grows beyond its reservation holds what it has grown to while it runs, be
// it in one event or in many: of the tokens a minute and of the budget.
func TestGrowingAnswersHoldMore(t *testing.T) {
	const budget, flowed = 10_000, 1000 // as cut-held sends before it waits
	for name, c := range map[string]struct {
		limits limit.Limits
		reason string
	}{
		"a budget":        {limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}, core.ReasonBudgetHeld},
		"tokens a minute": {limit.Limits{TokensPerMinute: budget}, core.ReasonTokens},
	} {
		t.Run(name, func(t *testing.T) {
			l := serveLimitedAt(t, keys.Policy{Limits: c.limits}, limit.Rules{}, stopped())
			req := tokens(10)
			req.Model = "cut-held"
			stream, err := l.client.StreamGenerateText(asKey(t), req)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := stream.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			most := int64(budget - 2*input - flowed)
			if _, err := l.client.GenerateText(asKey(t), tokens(most+1)); err == nil || detail(t, err).GetReason() != c.reason {
				t.Errorf("what the answer has grown to is not held: %v", err)
			}
			// It holds no more than twice what was seen.
			if _, err := l.client.GenerateText(asKey(t), tokens(most-flowed)); err != nil {
				t.Error(err)
			}
		})
	}
}
