//go:build unix

package shared

import (
	"context"
	"crypto/rand"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/limittest"
	"github.com/genway/genway/test/servers"
	"pgregory.net/rapid"
)

// settled waits until the server has all settlements.
func (s *Store) settled(t interface{ Fatal(...any) }) {
	for deadline := time.Now().Add(time.Minute); len(s.queue.first()) > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the settlements are not sent")
		}
	}
}

// site returns cores that share the server at a URL.
func site(t interface{ Fatal(...any) }, url string) func(limittest.Config) limittest.Store {
	prefix := rand.Text()
	return func(c limittest.Config) limittest.Store {
		s, err := Start(context.Background(), Config{URL: url, Prefix: prefix, Timeout: 10 * time.Second, Process: c.Process, Spent: c.Spent, Clock: c.Clock})
		if err != nil {
			t.Fatal(err)
		}
		return limittest.Store{Store: s, Settled: func() {
			if s.settled(t); s.Unavailable() {
				t.Fatal("the server refuses a settlement")
			}
		}}
	}
}

// The suite of the stores, with two cores that share a server.
func TestStore(t *testing.T) {
	limittest.Run(t, 2, func(t *testing.T) func(limittest.Config) limittest.Store {
		return site(t, servers.SharedRedis(t).URL())
	})
}

// The shared store admits what memory does, and refuses the rest for the same reason,
// whatever figures requests claim, extend and settle by, whichever of two cores has them, and
// however their limits change. Nothing makes the server refuse a script, nor lets a sum end below what was spent.
func TestStoresAgree(t *testing.T) {
	for kind, url := range map[string]func() string{
		"single":   func() string { return servers.SharedRedis(t).URL() },
		"sentinel": func() string { return servers.NewSentinel(t).URL() },
		"cluster":  func() string { return servers.NewCluster(t).URL() },
	} {
		t.Run(kind, func(t *testing.T) {
			url := url()
			rapid.Check(t, func(t *rapid.T) { storesAgree(t, url, false) })
		})
	}
}

// A server that loses all data changes nothing of places and money, wherever it happens between what cores do.
func TestStoresAgreeWhenDataIsLost(t *testing.T) {
	url := servers.SharedRedis(t).URL()
	rapid.Check(t, func(t *rapid.T) { storesAgree(t, url, true) })
}

// lose has the server of a site lose all data of the site, and the cores notice it, as they do by the next renewal.
func lose(t *rapid.T, s *limittest.Site) {
	for _, c := range s.Cores {
		s := c.Store.Store.(*Store)
		if _, err := s.client.run(t.Context(), "EVAL", "for _, name in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', name) end return 1", 0, "{"+s.keys.prefix+"}:*"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range s.Cores {
		c.Store.Store.(*Store).renew(t.Context())
	}
}

func storesAgree(t *rapid.T, url string, lossy bool) {
	began := time.Now()
	shared := limittest.NewSite(t, 2, site(t, url))
	stores := [2]*limittest.Site{limittest.NewSite(t, 1, func(c limittest.Config) limittest.Store { return limittest.Store{Store: limit.NewMemory(c.Clock)} }), shared}
	// Rates of tokens are such that what passes meanwhile is less than a token.
	figures := []*rapid.Generator[int64]{rapid.Int64Range(-1, 6), rapid.Int64Range(0, 1000)}
	rates, ofModel := int64(0), int64(0)
	if !lossy {
		rates, ofModel = rapid.SampledFrom([]int64{0, 1, 2}).Draw(t, "tokens a minute"), rapid.SampledFrom([]int64{0, 3}).Draw(t, "of the model")
		figures = append(figures, rapid.SampledFrom([]int64{
			math.MinInt64, -1 << 53, limit.MaxTokens, limit.MaxTokens + 1, 5e15, 4_500_000 * limit.Dollar, 9_000_000 * limit.Dollar,
			amount.Exact, amount.Exact + 1, 1 << 61, math.MaxInt64 - 1, math.MaxInt64,
		}))
	}
	for _, s := range stores {
		for _, c := range s.Cores {
			c.Swap(limit.Rules{Models: []limit.Rule{{Pattern: "m", Limits: limit.Limits{TokensPerMinute: ofModel}}}})
		}
	}
	figure := rapid.OneOf(figures...)
	drawn := func() limit.Amount {
		return limit.Amount{Tokens: figure.Draw(t, "tokens"), Cost: figure.Draw(t, "cost")}
	}
	who := func() limit.Who {
		l := limit.Limits{TokensPerMinute: rates, Concurrent: rapid.SampledFrom([]int64{0, 3}).Draw(t, "at once")}
		for _, period := range limit.Periods {
			if most := rapid.SampledFrom([]int64{0, 0, 1, 1000, 9_000_000 * limit.Dollar}).Draw(t, string(period)); most > 0 {
				l.Budgets = append(l.Budgets, limit.Budget{Amount: most, Period: period})
			}
		}
		return limit.Who{KeyID: "key_a", Owner: "team", Model: "m", Limits: l}
	}
	core := func() int { return rapid.IntRange(0, 1).Draw(t, "core") }
	var open [][2]*limittest.Request
	extended := map[*limittest.Request]bool{}
	pick := func() int { return rapid.IntRange(0, len(open)-1).Draw(t, "which") }
	reserve := func(who limit.Who, most limit.Amount, core int) {
		var taken [2]*limittest.Request
		var refusals [2]limit.Refusal
		var waits [2]time.Duration
		for i, s := range stores {
			r, refusal := s.Cores[min(core, len(s.Cores)-1)].Ask(who, most)
			if refusal == nil {
				taken[i] = r
				continue
			}
			refusals[i], waits[i] = *refusal, refusal.After
			refusals[i].After, refusals[i].Standing = 0, limit.Standing{}
		}
		// A refusal names the limit with the longest wait. The time between the calls of
		// the two stores decides between limits whose waits differ by less than that.
		if refusals[0] != refusals[1] && (taken[0] != nil || taken[1] != nil || (waits[0]-waits[1]).Abs() > time.Since(began)) {
			t.Fatalf("%+v: memory says %+v, the shared store %+v", most, refusals[0], refusals[1])
		}
		if taken[0] != nil {
			if taken[0].Standing.Money != taken[1].Standing.Money {
				t.Fatalf("%+v: of the budget memory says %+v, the shared store %+v", most, taken[0].Standing.Money, taken[1].Standing.Money)
			}
			open = append(open, taken)
		}
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		switch do := rapid.IntRange(0, 4).Draw(t, "do"); {
		case do < 2 || len(open) == 0:
			reserve(who(), drawn(), core())
		case do == 2:
			one, more := open[pick()], drawn()
			extended[one[0]] = true
			for _, r := range one {
				r.Extend(more)
			}
		case do == 3 && lossy:
			// What a core settles then is in the ledger, which another core asks before the settlement comes.
			i := pick()
			late, actual := open[i], drawn()
			open = append(open[:i:i], open[i+1:]...)
			late[1].Book(actual)
			lose(t, shared)
			late[0].End(actual)
			other := who()
			other.Limits.Concurrent = 0
			reserve(other, limit.Amount{}, core())
			late[1].End(limit.Amount{Cost: actual.Cost})
		default:
			i := pick()
			one, actual := open[i], drawn()
			open = append(open[:i:i], open[i+1:]...)
			if extended[one[0]] { // the shared store returns none of an extended claim's tokens
				actual.Tokens = math.MaxInt64
			}
			for _, r := range one {
				r.End(actual)
				r.Settle(limit.Amount{Tokens: 1, Cost: 1}) // counts once
			}
		}
		shared.Settled()
	}
}
