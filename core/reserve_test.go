package core_test

import (
	"math"
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
			for more, reason := range map[int64]string{1: limit.Kinds[limit.Tokens].Reason, 0: ""} {
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
		"tokens a minute": {limit.Limits{TokensPerMinute: budget}, limit.Kinds[limit.Tokens].Reason},
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

// A request that sets no maximum holds what its answer can cost: what the model can give, or what is left of the budget, and
// then its answer is cut there. So no answer overspends the budget, nor do many at once.
func TestAnswersWithoutAMaximumFitTheBudget(t *testing.T) {
	const unknown = 128_000
	for _, c := range []struct {
		name          string
		model         string
		candidates    int32
		left          int64 // of the budget
		cut, heldThen int64 // each answer's bound, and what the request holds
	}{
		{"the model's most fits", "m", 0, input + 5000, 0, input + 5000},
		{"what is left", "m", 0, input + 4999, 4999, input + 4999},
		{"the least", "m", 0, input + 700, 700, input + 700},
		{"less than the least", "m", 0, input + 699, -1, 0},
		{"a model that is known to give less than the least", "short", 0, input + 50, 0, input + 50},
		{"no room for it", "short", 0, input + 49, -1, 0},
		{"an unknown model", "triple", 0, 3 * (input + unknown), 0, 3 * (input + unknown)},
		{"an unknown model, cut", "triple", 0, 3*(input+unknown) - 1, unknown - 1, 3*(input+unknown) - 1},
		{"each of several answers", "m", 4, input + 4*5000, 0, input + 4*5000},
		{"each of several answers, cut", "m", 4, input + 4*4999 + 3, 4999, input + 4*4999 + 3},
		{"by the dearest target and the longest answer", "both", 0, 3 * (input + unknown), 0, 3 * (input + unknown)},
		{"cut by the dearest target", "both", 0, 3*(input+6000) + 2, 6000, 3*(input+6000) + 2},
		{"more than an int64 holds", "endless", 0, limit.Dollar, limit.Dollar - input, limit.Dollar},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 5 * limit.Dollar
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
			l.targets = map[string][]string{"both": {"m", "triple"}, "short": {"cut"}, "endless": {"cut-held"}}
			l.longest = map[string]int64{"m": 5000, "cut": 50, "cut-held": math.MaxInt64}
			l.hold = make(chan struct{})
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.left)
			req := request()
			req.Model = c.model
			if c.candidates > 0 {
				req.Sampling = &genwayv1.Sampling{CandidateCount: &c.candidates}
			}
			asked := make(chan error, 1)
			go func() {
				_, err := l.client.GenerateText(asKey(t), req)
				asked <- err
			}()
			err := l.await(t, 1, asked)
			if c.cut < 0 {
				if err == nil || detail(t, err).GetReason() != core.ReasonBudget {
					t.Errorf("admitted: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := l.cut.Load(); got != c.cut {
				t.Errorf("the answer ends after %d tokens, want %d", got, c.cut)
			}
			// Another may spend what this one does not hold, and no more.
			for more, admits := range map[int64]bool{1: false, 0: true} {
				another := make(chan error, 1)
				before := l.calls.Load()
				go func() {
					_, err := l.client.GenerateText(asKey(t), tokens(max(c.left-c.heldThen-input, 0)+more))
					another <- err
				}()
				if err := l.await(t, before+1, another); (err == nil) != (admits && c.left-c.heldThen >= input) {
					t.Errorf("with %d more than is left: %v", more, err)
				}
			}
			close(l.hold)
			if err := <-asked; err != nil {
				t.Error(err)
			}
		})
	}
}

// Requests without a maximum that come at once share what is left: all they may spend is no more than the budget.
func TestAnswersAtOnceFitTheBudget(t *testing.T) {
	const budget = 20_000
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
	l.longest, l.hold = map[string]int64{"m": 5000}, make(chan struct{})
	ended := make(chan error, 30)
	for range cap(ended) {
		go func() {
			_, err := l.client.GenerateText(asKey(t), request())
			ended <- err
		}()
	}
	// Three hold 5,005 each; the fourth what is left, 4,985.
	refused := 0
	for ; refused < cap(ended)-4; refused++ {
		if err := <-ended; detail(t, err).GetReason() != core.ReasonBudgetHeld {
			t.Fatalf("%d were refused, then: %v", refused, err)
		}
	}
	if err := l.await(t, 4); err != nil {
		t.Fatal(err)
	}
	close(l.hold)
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
