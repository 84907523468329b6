//go:build unix

package shared

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/test/servers"
	"pgregory.net/rapid"
)

// settled waits until the server has all settlements.
func (s *Store) settled(t interface{ Fatal(...any) }) {
	for deadline := time.Now().Add(30 * time.Second); len(s.queue.first()) > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the settlements are not sent")
		}
	}
}

// The shared store admits what memory does, and refuses the rest for the same reason,
// whatever figures requests claim, extend and settle by. Nothing makes the server refuse
// a script, nor lets a sum end below what was spent.
func TestStoresAgree(t *testing.T) {
	for kind, url := range map[string]func() string{
		"single":   func() string { return servers.SharedRedis(t).URL() },
		"sentinel": func() string { return servers.NewSentinel(t).URL() },
		"cluster":  func() string { return servers.NewCluster(t).URL() },
	} {
		t.Run(kind, func(t *testing.T) { storesAgree(t, url()) })
	}
}

func storesAgree(t *testing.T, url string) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		began := time.Now()
		s, err := Start(context.Background(), Config{URL: url, Prefix: fmt.Sprint("agree", began.UnixNano()), Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		// Rates of tokens are such that what passes meanwhile is less than a token.
		limits := limit.Limits{
			TokensPerMinute: rapid.SampledFrom([]int64{0, 1, 2}).Draw(t, "tokens a minute"),
			Concurrent:      rapid.SampledFrom([]int64{0, 3}).Draw(t, "at once"),
			Budgets:         []limit.Budget{{Amount: rapid.SampledFrom([]int64{1, 1000, 9_000_000 * limit.Dollar}).Draw(t, "budget"), Period: limit.Month}},
		}
		rules := limit.Rules{Models: []limit.Rule{{Pattern: "m", Limits: limit.Limits{TokensPerMinute: rapid.SampledFrom([]int64{0, 3}).Draw(t, "of the model")}}}}
		who := limit.Who{KeyID: "key_a", Owner: "team", Model: "m", Limits: limits}
		stores := [2]*limit.Limiter{limit.New(limit.NewMemory(nil), rules), limit.New(s, rules)}
		figure := rapid.OneOf(rapid.Int64Range(-1, 6), rapid.Int64Range(0, 1000), rapid.SampledFrom([]int64{
			math.MinInt64, -1 << 53, limit.MostTokens, limit.MostTokens + 1, 5e15, 4_500_000 * limit.Dollar, 9_000_000 * limit.Dollar,
			amount.Exact, amount.Exact + 1, 1 << 61, math.MaxInt64 - 1, math.MaxInt64,
		}))
		drawn := func() limit.Amount {
			return limit.Amount{Tokens: figure.Draw(t, "tokens"), Cost: figure.Draw(t, "cost")}
		}
		var open [][2]*limit.Reservation
		extended := map[*limit.Reservation]bool{}
		pick := func() [2]*limit.Reservation { return open[rapid.IntRange(0, len(open)-1).Draw(t, "which")] }
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch do := rapid.IntRange(0, 3).Draw(t, "do"); {
			case do < 2 || len(open) == 0:
				most := drawn()
				var taken [2]*limit.Reservation
				var refusals [2]limit.Refusal
				var waits [2]time.Duration
				for i, l := range stores {
					taken[i] = l.Prepare(who)
					_, err := taken[i].Reserve(context.Background(), most)
					if refusal, ok := errors.AsType[*limit.Refusal](err); ok {
						refusals[i], waits[i] = *refusal, refusal.After
						refusals[i].After, refusals[i].Standing = 0, limit.Standing{}
						taken[i] = nil
					} else if err != nil {
						t.Fatal(err)
					}
				}
				// A refusal names the limit with the longest wait. The time between the calls of
				// the two stores decides between limits whose waits differ by less than that.
				if refusals[0] != refusals[1] && (taken[0] != nil || taken[1] != nil || (waits[0]-waits[1]).Abs() > time.Since(began)) {
					t.Fatalf("%+v: memory says %+v, the shared store %+v", most, refusals[0], refusals[1])
				}
				if taken[0] != nil {
					open = append(open, taken)
				}
			case do == 2:
				more, one := drawn(), pick()
				extended[one[0]] = true
				for _, r := range one {
					r.Extend(more)
				}
			default:
				actual, one := drawn(), pick()
				if extended[one[0]] { // the shared store returns none of an extended claim's tokens
					actual.Tokens = math.MaxInt64
				}
				for _, r := range one {
					r.Settle(actual)
					r.Settle(limit.Amount{Tokens: 1, Cost: 1}) // counts once
				}
			}
			s.settled(t)
			if s.Unavailable() {
				t.Fatal("the server refuses a settlement")
			}
		}
	})
}
