package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/limittest"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that moves only by advance.
type clock struct{ at atomic.Int64 }

func clockAt(text string) *clock {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	c := &clock{}
	c.at.Store(t.UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }
func (c *clock) limiter(r limit.Rules) *limit.Limiter {
	return limit.New(limit.NewMemory(c.now), r)
}

// The suite of the stores, with one core that counts in memory.
func TestMemory(t *testing.T) {
	limittest.Run(t, 1, func(t *testing.T) func(limittest.Config) limittest.Store {
		return func(c limittest.Config) limittest.Store {
			memory := limit.NewMemory(c.Clock)
			if err := memory.Restore(t.Context(), c.Spent); err != nil {
				t.Fatal(err)
			}
			return limittest.Store{Store: memory}
		}
	})
}

const start = "2026-11-22T10:00:00Z"

func who(l limit.Limits) limit.Who {
	return limit.Who{KeyID: "key_a", Owner: "team", Model: "m", Limits: l}
}

// ask reserves, and returns the reservation or the refusal.
func ask(t interface {
	Helper()
	Fatal(args ...any)
}, l *limit.Limiter, w limit.Who, most limit.Amount) (*limit.Reservation, *limit.Refusal) {
	t.Helper()
	r := l.Prepare(w)
	_, err := r.Reserve(context.Background(), most)
	if err == nil {
		return r, nil
	}
	refusal, ok := errors.AsType[*limit.Refusal](err)
	if !ok {
		t.Fatal(err)
	}
	return nil, refusal
}

// A rate admits its minute's worth at once, then one for each part of a minute, for any
// figure, with no drift.
func TestRequestsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, limit.MaxFigure)).Draw(t, "rate")
		c := clockAt(start)
		l := c.limiter(limit.Rules{})
		w := who(limit.Limits{RequestsPerMinute: rate})
		// The model is a bucket that leaks, in fractions.
		level, now := new(big.Rat), int64(0)
		for i, pause := range rapid.SliceOfN(rapid.Int64Range(0, 90_000_000), 1, 200).Draw(t, "pauses") {
			if i%3 != 0 {
				pause = 0
			}
			c.pass(time.Duration(pause) * time.Microsecond)
			now += pause
			level.Sub(level, new(big.Rat).Mul(new(big.Rat).SetFrac64(pause, 60_000_000), new(big.Rat).SetInt64(rate)))
			if level.Sign() < 0 {
				level.SetInt64(0)
			}
			next := new(big.Rat).Add(level, big.NewRat(1, 1))
			fits := next.Cmp(new(big.Rat).SetInt64(rate)) <= 0
			_, refusal := ask(t, l, w, limit.Amount{})
			if fits != (refusal == nil) {
				t.Fatalf("request %d at %d µs with %s of %d used: %+v", i, now, level.FloatString(6), rate, refusal)
			}
			if fits {
				level = next
				continue
			}
			// The wait is the shortest whole number of microseconds.
			over := new(big.Rat).Sub(next, new(big.Rat).SetInt64(rate))
			over.Mul(over, big.NewRat(60_000_000, 1)).Quo(over, new(big.Rat).SetInt64(rate))
			want := new(big.Int).Div(new(big.Int).Add(over.Num(), new(big.Int).Sub(over.Denom(), big.NewInt(1))), over.Denom())
			if refusal.After != time.Duration(want.Int64())*time.Microsecond {
				t.Fatalf("wait %v, want %v µs", refusal.After, want)
			}
		}
	})
}

// taken is what a request took of the tokens in truth.
type taken struct {
	at     int64
	tokens int64
}

// level is what a bucket holds that leaks rate a minute, had everything been taken when
// it was admitted.
func level(all []*taken, rate, now int64) *big.Rat {
	sum, last := new(big.Rat), int64(0)
	leak := func(until int64) {
		leaked := new(big.Rat).Mul(new(big.Rat).SetFrac64(until-last, 60_000_000), new(big.Rat).SetInt64(rate))
		if sum.Sub(sum, leaked); sum.Sign() < 0 {
			sum.SetInt64(0)
		}
		last = until
	}
	for _, one := range all {
		leak(one.at)
		sum.Add(sum, new(big.Rat).SetInt64(one.tokens))
	}
	leak(now)
	return sum
}

// Whatever requests reserve, use and return, in any order: no more is admitted than
// had each taken at once what it used in the end.
func TestTokensNeverExceedTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1, 1000).Draw(t, "rate")
		c := clockAt(start)
		l := c.limiter(limit.Rules{})
		w := who(limit.Limits{TokensPerMinute: rate})
		var all []*taken
		type running struct {
			*limit.Reservation
			*taken
		}
		var open []running
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				d := rapid.Int64Range(0, 80_000_000).Draw(t, "µs")
				now += d
				c.pass(time.Duration(d) * time.Microsecond)
			},
			"reserve": func(t *rapid.T) {
				n := rapid.Int64Range(0, rate).Draw(t, "tokens")
				held := level(all, rate, now)
				r, refusal := ask(t, l, w, limit.Amount{Tokens: n})
				if refusal != nil {
					return
				}
				most := new(big.Rat).SetInt64(rate)
				if held.Add(held, new(big.Rat).SetInt64(n)).Cmp(most) > 0 {
					t.Fatalf("admitted %d with %s of %d used", n, held.FloatString(6), rate)
				}
				one := &taken{now, n}
				all = append(all, one)
				open = append(open, running{r, one})
			},
			"extend": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				one := rapid.SampledFrom(open).Draw(t, "one")
				n := rapid.Int64Range(1, rate).Draw(t, "more")
				one.Extend(limit.Amount{Tokens: n})
				one.tokens += n
			},
			"settle": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				used := rapid.Int64Range(0, 2*rate).Draw(t, "used")
				open[i].Settle(limit.Amount{Tokens: used})
				open[i].tokens = used
				open = append(open[:i:i], open[i+1:]...)
			},
		})
	})
}

// With no time between, what is returned can be taken again to the last token.
func TestTokensComeBack(t *testing.T) {
	c := clockAt(start)
	l := c.limiter(limit.Rules{})
	w := who(limit.Limits{TokensPerMinute: 777})
	for i := range 1000 {
		r, refusal := ask(t, l, w, limit.Amount{Tokens: 700})
		if refusal != nil {
			t.Fatalf("request %d: %+v", i, refusal)
		}
		r.Settle(limit.Amount{})
	}
	if _, refusal := ask(t, l, w, limit.Amount{Tokens: 777}); refusal != nil {
		t.Errorf("%+v", refusal)
	}
}

// A request that asks for more than a minute's worth takes all of it, and runs into
// debt for what it uses beyond.
func TestMoreThanAMinutesWorth(t *testing.T) {
	c := clockAt(start)
	l := c.limiter(limit.Rules{})
	w := who(limit.Limits{TokensPerMinute: 100})
	r, refusal := ask(t, l, w, limit.Amount{Tokens: 5000})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	r.Settle(limit.Amount{Tokens: 300})
	if _, refusal = ask(t, l, w, limit.Amount{Tokens: 100}); refusal == nil || refusal.After != 3*time.Minute || refusal.Metric != limit.Tokens {
		t.Fatalf("%+v", refusal)
	}
	c.pass(3 * time.Minute)
	if _, refusal = ask(t, l, w, limit.Amount{Tokens: 100}); refusal != nil {
		t.Errorf("%+v", refusal)
	}
}

// Budgets of k reservations admit k of those at once; what is not used comes back, what
// is spent does not, until the period is over.
func TestBudgetsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int64Range(1, 1000).Draw(t, "day")
		month := rapid.Int64Range(1, 3000).Draw(t, "month")
		c := clockAt("2026-11-29T22:00:00Z")
		l := c.limiter(limit.Rules{Owners: []limit.Rule{{Pattern: "t*", Limits: limit.Limits{Budgets: []limit.Budget{{Amount: month, Period: limit.Month}}}}}})
		w := who(limit.Limits{Budgets: []limit.Budget{{Amount: day, Period: limit.Day}}})
		type running struct {
			*limit.Reservation
			cost       int64
			day, month string
		}
		var open []running
		spent, held := map[string]int64{}, map[string]int64{}
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				c.pass(time.Duration(rapid.Int64Range(0, int64(5*time.Hour)).Draw(t, "d")))
			},
			"reserve": func(t *rapid.T) {
				cost := rapid.Int64Range(0, 400).Draw(t, "cost")
				d, m := c.now().Format(time.DateOnly), c.now().Format("2006-01")
				fits := cost == 0 || spent[d]+held[d]+cost <= day && spent[m]+held[m]+cost <= month
				r, refusal := ask(t, l, w, limit.Amount{Cost: cost})
				if fits != (refusal == nil) {
					t.Fatalf("%d of %d, %d: day %d+%d, month %d+%d: %+v", cost, day, month, spent[d], held[d], spent[m], held[m], refusal)
				}
				if refusal != nil {
					last := spent[m]+cost > month || refusal.Scope == limit.Key && spent[d]+cost > day
					if refusal.Held == last {
						t.Fatalf("%d of %d, %d: day %d+%d, month %d+%d: %+v", cost, day, month, spent[d], held[d], spent[m], held[m], refusal)
					}
					return
				}
				held[d] += cost
				held[m] += cost
				open = append(open, running{r, cost, d, m})
			},
			"settle": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				one, used := open[i], rapid.Int64Range(0, 500).Draw(t, "used")
				one.Settle(limit.Amount{Cost: used})
				one.Settle(limit.Amount{Cost: used}) // counts once
				for _, p := range []string{one.day, one.month} {
					held[p] -= one.cost
					spent[p] += used
				}
				open = append(open[:i:i], open[i+1:]...)
			},
		})
	})
}

// The standing has the fullest budget, as it was before the request.
func TestStandingOfBudgets(t *testing.T) {
	c := clockAt(start)
	l := c.limiter(limit.Rules{Owners: []limit.Rule{{Pattern: "team", Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 100, Period: limit.Month}}}}}})
	w := who(limit.Limits{Budgets: []limit.Budget{{Amount: 50, Period: limit.Day}, {Amount: 1000, Period: limit.Month}}})
	ownDay := limit.Fill{Limit: 50, Scope: limit.Key, Period: limit.Day, End: limit.Day.End(c.now())}
	owners := limit.Fill{Limit: 100, Scope: limit.Owner, Period: limit.Month, End: limit.Month.End(c.now())}
	spend := func(w limit.Who, cost int64, want limit.Fill, spent int64) {
		t.Helper()
		want.Spent = spent
		r := l.Prepare(w)
		got, err := r.Reserve(t.Context(), limit.Amount{Cost: cost})
		if refusal, ok := errors.AsType[*limit.Refusal](err); err != nil && (!ok || refusal.Standing != got) {
			t.Error(err)
		}
		if got.Money != want {
			t.Errorf("got %+v, want %+v", got.Money, want)
		}
		r.Settle(limit.Amount{Cost: cost})
	}
	spend(w, 20, ownDay, 0)
	spend(w, 0, ownDay, 20)
	spend(limit.Who{KeyID: "another", Owner: "team"}, 60, owners, 20)
	spend(w, 31, owners, 80) // refused
	spend(limit.Who{KeyID: "a third"}, 60, limit.Fill{}, 0)
}

// The standing is the standing of the subject with the least left, refused or not.
func TestStanding(t *testing.T) {
	c := clockAt(start)
	l := c.limiter(limit.Rules{Owners: []limit.Rule{{Pattern: "team", Limits: limit.Limits{RequestsPerMinute: 2, TokensPerMinute: 600}}}})
	w := who(limit.Limits{RequestsPerMinute: 60})
	for i, want := range []limit.Standing{
		{Rates: [limit.Concurrent]limit.Figures{limit.Requests: {2, 1, 30 * time.Second}, limit.Tokens: {600, 500, 10 * time.Second}}},
		{Rates: [limit.Concurrent]limit.Figures{limit.Requests: {2, 0, time.Minute}, limit.Tokens: {600, 400, 20 * time.Second}}},
		{Rates: [limit.Concurrent]limit.Figures{limit.Requests: {2, 0, time.Minute}, limit.Tokens: {600, 400, 20 * time.Second}}},
	} {
		got, err := l.Prepare(w).Reserve(t.Context(), limit.Amount{Tokens: 100})
		if refusal, ok := errors.AsType[*limit.Refusal](err); ok != (i == 2) || ok && refusal.Standing != got {
			t.Errorf("%d: %v", i, err)
		}
		if got != want {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
}

// Rules change without losing what is used, and what is seeded counts.
func TestSwapAndSeed(t *testing.T) {
	c := clockAt(start)
	memory := limit.NewMemory(c.now)
	memory.Seed(limit.Key, "key_a", limit.Month, c.now(), 70)
	l := limit.New(memory, limit.Rules{Keys: limit.Limits{RequestsPerMinute: 2}})
	for range 2 {
		if _, refusal := ask(t, l, who(limit.Limits{}), limit.Amount{}); refusal != nil {
			t.Fatal(refusal)
		}
	}
	l.Swap(limit.Rules{Keys: limit.Limits{RequestsPerMinute: 4, Budgets: []limit.Budget{{Amount: 100, Period: limit.Month}}}})
	if _, refusal := ask(t, l, who(limit.Limits{}), limit.Amount{Cost: 31}); refusal == nil || refusal.Metric != limit.Money || refusal.Held || !refusal.End.Equal(limit.Month.End(c.now())) {
		t.Errorf("%+v", refusal)
	}
	if _, refusal := ask(t, l, who(limit.Limits{}), limit.Amount{Cost: 30}); refusal != nil {
		t.Errorf("%+v", refusal)
	}
	// The key's own limits go before the rules', one by one.
	if _, refusal := ask(t, l, who(limit.Limits{RequestsPerMinute: 1}), limit.Amount{}); refusal == nil || refusal.Limit != 1 || refusal.After != 3*time.Minute {
		t.Errorf("%+v", refusal)
	}
}

// What is idle is forgotten: memory is bounded by the keys in use.
func TestIdleAccountsAreForgotten(t *testing.T) {
	c := clockAt(start)
	memory := limit.NewMemory(c.now)
	l := limit.New(memory, limit.Rules{Keys: limit.Limits{RequestsPerMinute: 5}})
	for i := range 1000 {
		r, refusal := ask(t, l, limit.Who{KeyID: fmt.Sprint("key_", i)}, limit.Amount{})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if i%2 == 0 {
			r.Settle(limit.Amount{Cost: int64(i % 4)})
		}
	}
	c.pass(11 * time.Minute)
	// No request looks at all of them: each forgets a few.
	last := memory.Accounts() + 2
	for range 1000/8 + 1 {
		ask(t, l, who(limit.Limits{}), limit.Amount{})
		if got := memory.Accounts(); got > last || got < last-10 {
			t.Fatalf("%d accounts, and %d before", got, last)
		}
		last = memory.Accounts()
	}
	// 500 that run, 250 that have spent, two of the last, and two that these were looked at
	// in place of.
	if got := memory.Accounts(); got < 752 || got > 754 {
		t.Errorf("%d accounts", got)
	}
}

// Admission and settlement are one allocation: the reservation.
func TestAllocations(t *testing.T) {
	l := limit.New(limit.NewMemory(nil), limit.Rules{Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{Concurrent: 10}}}})
	w := who(limit.Limits{RequestsPerMinute: limit.MaxFigure, TokensPerMinute: limit.MaxFigure, Concurrent: 10,
		Budgets: []limit.Budget{{Amount: limit.Dollar, Period: limit.Day}}})
	if got := testing.AllocsPerRun(100, func() {
		r := l.Prepare(w)
		if _, err := r.Reserve(context.Background(), limit.Amount{Tokens: 10, Cost: 10}); err != nil {
			t.Fatal(err)
		}
		r.Settle(limit.Amount{Tokens: 1, Cost: 1})
	}); got != 1 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkMemory(b *testing.B) {
	l := limit.New(limit.NewMemory(nil), limit.Rules{Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{Concurrent: 10}}}})
	w := who(limit.Limits{RequestsPerMinute: limit.MaxFigure, TokensPerMinute: limit.MaxFigure, Concurrent: 10,
		Budgets: []limit.Budget{{Amount: limit.Dollar, Period: limit.Day}}})
	b.ReportAllocs()
	for b.Loop() {
		r := l.Prepare(w)
		if _, err := r.Reserve(context.Background(), limit.Amount{Tokens: 10}); err != nil {
			b.Fatal(err)
		}
		r.Settle(limit.Amount{Tokens: 1})
	}
}
