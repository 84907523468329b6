package shared

import (
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
)

// A refusal by a share of a limit names the whole limit, and the share; what only the share
// has no room for is no refusal for good.
func TestSharesNameTheWholeLimit(t *testing.T) {
	full := []limit.Subject{
		{Scope: limit.Owner, Bounds: limit.Bounds{Figures: [limit.Money]int64{limit.Requests: 7}}},
		{Scope: limit.Key, Bounds: limit.Bounds{Figures: [limit.Money]int64{limit.Requests: 60, limit.Tokens: 1000, limit.Concurrent: 4}, Budgets: [2]int64{10, 100}}},
	}
	for _, c := range []struct {
		refusal limit.Refusal
		want    limit.Refusal
	}{
		{limit.Refusal{Scope: limit.Key, Metric: limit.Requests, Limit: 30}, limit.Refusal{Limit: 60, Share: 30}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Tokens, Limit: 500}, limit.Refusal{Limit: 1000, Share: 500}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Concurrent, Limit: 2}, limit.Refusal{Limit: 4, Share: 2}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Money, Period: limit.Month, Limit: 50}, limit.Refusal{Limit: 100, Share: 50}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Money, Period: limit.Day, Limit: 5, Asked: 8, Never: true}, limit.Refusal{Limit: 10, Share: 5, After: time.Second}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Money, Period: limit.Day, Limit: 5, Asked: 11, Never: true}, limit.Refusal{Limit: 10, Share: 5, Never: true}},
		{limit.Refusal{Scope: limit.Owner, Metric: limit.Requests, Limit: 7}, limit.Refusal{Limit: 7}},
		{limit.Refusal{Scope: limit.Key, Metric: limit.Tokens, Limit: limit.MaxTokens, Never: true}, limit.Refusal{Limit: limit.MaxTokens, Never: true}},
	} {
		got := c.refusal
		nameWhole(&got, full)
		if got.Limit != c.want.Limit || got.Share != c.want.Share || got.Never != c.want.Never || got.After != c.want.After {
			t.Errorf("%+v: got %+v, want %+v", c.refusal, got, c.want)
		}
	}
}

// Shares are rounded down: the shares of all cores together are no more than the limit, but that each core admits at least one.
func TestSharesAreRoundedDown(t *testing.T) {
	claim := &limit.Claim{Starts: [2]int64{1, 1}}
	for _, c := range []struct {
		share            float64
		all, part, known int64
	}{
		{0.5, 1000, 500, 0},
		{0.5, 7, 3, 0},
		{0.5, 1, 1, 0},
		{0.5, 0, 0, 0},
		{0, 5, 1, 0},
		{1, 5, 5, 0},
		{0.3, 8, 2, 0},
		{0.999, 2, 1, 0},
		{0.5, 1007, 1003, 1000},
		{0.5, 7, 7, 7},
		{0.5, 7, 7, 1000},
	} {
		s := &Store{known: newKnown(limit.NewMemory(nil))}
		for place := range claim.Starts {
			s.known.set(budget{limit.Key, "k", place, 1}, c.known)
		}
		got := s.share(&limit.Subject{Scope: limit.Key, ID: "k", Bounds: limit.Bounds{Figures: [limit.Money]int64{limit.Requests: c.all, limit.Tokens: c.all, limit.Concurrent: c.all}, Budgets: [2]int64{c.all, c.all}}}, c.share, claim)
		want := limit.Bounds{Figures: [limit.Money]int64{limit.Requests: c.part, limit.Tokens: c.part, limit.Concurrent: c.part}, Budgets: [2]int64{c.part, c.part}}
		if c.known > 0 { // the others do not depend on it
			want.Figures = got.Figures
		}
		if got != want {
			t.Errorf("%v of %d, of which %d are known to be spent: %+v, want %+v", c.share, c.all, c.known, got, want)
		}
	}
}
