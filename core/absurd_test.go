package core_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// absurd are maximums of output tokens and counts of candidates whose products and costs
// an int64 does not hold, or that no upstream answers.
var absurd = []struct {
	most       int64
	candidates int32
}{
	{math.MaxInt64, 1}, {math.MaxInt64, math.MaxInt32}, {math.MaxInt64 - 1, 2}, {5e15, 1}, {5e15, 128}, {1 << 61, 4}, {1 << 62, 2}, {1 << 62, 4},
	{9223371487098961920, 2}, {1<<53 + 1, 1}, {limit.MaxTokens, 2}, {limit.MaxTokens + 1, 1}, {1 << 31, math.MaxInt32},
}

// asking is a request for so many tokens of so many candidates.
func asking(model string, most int64, candidates int32) *genwayv1.GenerateTextRequest {
	req := tokens(most)
	req.Model, req.Sampling = model, &genwayv1.Sampling{CandidateCount: &candidates}
	return req
}

// Case M1: no maximum that a caller sets is taken for a small one. A request that costs
// more than its budget could ever pay is refused, also once the budget is spent, and takes
// nothing.
func TestM1AbsurdClaimsAgainstABudget(t *testing.T) {
	const budget = 100_000
	policy := keys.Policy{Limits: limit.Limits{RequestsPerMinute: 4, Concurrent: 1, Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}
	l := serveLimited(t, policy, limit.Rules{})
	refuse := func() {
		t.Helper()
		for _, a := range absurd {
			for _, model := range []string{"m", "dear"} {
				_, err := l.client.GenerateText(asKey(t), asking(model, a.most, a.candidates))
				if d := detail(t, err); d.GetReason() != core.ReasonBudget || d.GetKind() != fault.QuotaExhausted || d.GetRetryAfter() != nil {
					t.Errorf("%d tokens, %d candidates of %s: %v", a.most, a.candidates, model, d)
				}
			}
		}
		if l.calls.Load() != 0 {
			t.Errorf("%d calls of the upstream", l.calls.Load())
		}
		l.calls.Store(0)
	}
	refuse()
	// Nothing was taken: all of the budget is there.
	if _, err := l.client.GenerateText(asKey(t), tokens(budget-5)); err != nil {
		t.Error(err)
	}
	l.calls.Store(0)
	l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget)
	refuse()
}

// Case M1: no maximum locks a model for others.
func TestM1AbsurdClaimsAgainstAModel(t *testing.T) {
	l := serveLimited(t, keys.Policy{}, limit.Rules{Models: []limit.Rule{{Pattern: "m", Limits: limit.Limits{TokensPerMinute: 1000}}}})
	for _, a := range absurd {
		_, err := l.client.GenerateText(asKey(t), asking("m", a.most, a.candidates))
		if d := detail(t, err); d.GetReason() != core.ReasonTooManyTokens || d.GetKind() != fault.InvalidRequest || d.GetParam() != "max_output_tokens" || d.GetRetryAfter() != nil {
			t.Errorf("%d tokens, %d candidates: %v", a.most, a.candidates, d)
		} else if huge := a.most >= 1<<53; huge != strings.Contains(d.GetMessage(), "may take at least 9007199254740991 tokens") && a.candidates == 1 {
			t.Errorf("%d tokens: %s", a.most, d.GetMessage())
		}
	}
	if l.calls.Load() != 0 {
		t.Errorf("%d calls of the upstream", l.calls.Load())
	}
	if _, err := l.client.GenerateText(asKey(t), tokens(995)); err != nil {
		t.Error(err)
	}
}

// Case M1: a maximum below 0 is none, and no count of candidates makes a request free.
func TestM1FiguresBelowZero(t *testing.T) {
	const budget, reserved = 10_000, 605 // 600 out, and the input
	for _, most := range []int64{-1, -1 << 40, math.MinInt64} {
		for _, candidates := range []int32{1, 0, -1, math.MinInt32} {
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: reserved - 5})
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-reserved+1)
			if _, err := l.client.GenerateText(asKey(t), asking("m", most, candidates)); err == nil || detail(t, err).GetReason() != core.ReasonBudget {
				t.Errorf("%d tokens, %d candidates: %v", most, candidates, err)
			}
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-reserved)
			if _, err := l.client.GenerateText(asKey(t), asking("m", most, candidates)); err != nil {
				t.Errorf("%d tokens, %d candidates: %v", most, candidates, err)
			}
		}
	}
}

// Case M1: what a budget counts must have a price, whatever the request asks for.
func TestM1AbsurdClaimsOfUnpricedModels(t *testing.T) {
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}}}}, limit.Rules{})
	for _, a := range append(absurd, struct {
		most       int64
		candidates int32
	}{0, 1}) {
		_, err := l.client.GenerateText(asKey(t), asking("unpriced", a.most, a.candidates))
		if d := detail(t, err); d.GetReason() != core.ReasonModelUnpriced {
			t.Errorf("%d tokens, %d candidates: %v", a.most, a.candidates, d)
		}
	}
	// Counting and listing take no money.
	for _, name := range []string{"CountTokens", "ListModels"} {
		if err := l.rpcs()[name](asKey(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Case M1: images are bounded in the same way.
func TestM1AbsurdImages(t *testing.T) {
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{TokensPerMinute: 1000, Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}}}}, limit.Rules{})
	_, err := l.client.GenerateImage(asKey(t), &genwayv1.GenerateImageRequest{Model: "dear", Prompt: "p", Count: new(int32(math.MaxInt32))})
	if d := detail(t, err); d.GetReason() != core.ReasonTooManyTokens || d.GetParam() != "count" || l.calls.Load() != 0 {
		t.Errorf("%v", d)
	}
}
