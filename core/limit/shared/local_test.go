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
		{Scope: limit.Owner, Bounds: limit.Bounds{Requests: 7}},
		{Scope: limit.Key, Bounds: limit.Bounds{Requests: 60, Tokens: 1000, Concurrent: 4, Budgets: [2]int64{10, 100}}},
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
		{limit.Refusal{Scope: limit.Key, Metric: limit.Tokens, Limit: limit.MostTokens, Never: true}, limit.Refusal{Limit: limit.MostTokens, Never: true}},
	} {
		got := c.refusal
		nameWhole(&got, full)
		if got.Limit != c.want.Limit || got.Share != c.want.Share || got.Never != c.want.Never || got.After != c.want.After {
			t.Errorf("%+v: got %+v, want %+v", c.refusal, got, c.want)
		}
	}
}
