//go:build unix

package shared

import (
	"cmp"
	"strconv"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/redis/go-redis/v9"
)

// state is what the server keeps of key_a: what is spent, held and running, and when its
// rate of tokens would be unused.
type state struct{ spent, held, running, free int64 }

func stateOf(t *testing.T, s *Store, conn *redis.Client) state {
	t.Helper()
	key := &limit.Subject{Scope: limit.Key, ID: "key_a"}
	hash, _ := s.keys.money(key, 1, limit.Month.Start(time.Now()).Unix())
	money, err := conn.HGetAll(t.Context(), hash).Result()
	if err != nil {
		t.Fatal(err)
	}
	running, err := conn.ZCard(t.Context(), s.keys.running(key)).Result()
	if err != nil {
		t.Fatal(err)
	}
	free, err := conn.HGet(t.Context(), s.keys.rate(limit.Tokens, key), "f").Int64()
	if err != nil {
		t.Fatal(err)
	}
	number := func(field string) int64 {
		n, err := strconv.ParseInt(cmp.Or(money[field], "0"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return state{number("spent"), number("held"), running, free}
}

// A settlement that is sent twice, since its answer was lost, counts once: an extension and
// a settlement, by itself and in one batch, and an older one after a newer.
func TestSettledTwiceCountsOnce(t *testing.T) {
	s, l, conn := beginOn(t, Config{})
	limits := limit.Limits{TokensPerMinute: 1000, Concurrent: 5, Budgets: []limit.Budget{{Amount: 1000, Period: limit.Month}}}
	claimOf := func() *limit.Claim {
		t.Helper()
		claim := &limit.Claim{Subjects: []limit.Subject{{Scope: limit.Key, ID: "key_a", Bounds: limit.Bounds{Figures: [limit.Money]int64{limit.Tokens: 1000, limit.Concurrent: 5}, Budgets: [2]int64{0, 1000}}}},
			Amount: limit.Amount{Tokens: 100, Cost: 100}}
		if _, err := s.Reserve(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		return claim
	}
	send := func(batch ...*settlement) state {
		t.Helper()
		if err := s.send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		return stateOf(t, s, conn)
	}
	reserve(t, l, limits, limit.Amount{Tokens: 1, Cost: 1}) // another that runs all the time
	one, two := claimOf(), claimOf()

	more := limit.Amount{Tokens: 50, Cost: 50}
	one.Extend(more.Cost)
	extension := &settlement{number: 1, id: one.ID, call: s.keys.extending(one, more, time.Minute, time.Now())}
	first := send(extension)
	if first.held != 251 || first.spent != 0 || first.running != 3 {
		t.Fatalf("after an extension: %+v", first)
	}
	if again := send(extension); again != first {
		t.Errorf("an extension sent twice: %+v, once: %+v", again, first)
	}
	settlements := []*settlement{
		{number: 2, id: one.ID, call: s.keys.settling(one, limit.Amount{Tokens: 400, Cost: 30}, s.spend(one, 30))},
		{number: 3, id: two.ID, call: s.keys.settling(two, limit.Amount{Tokens: 300, Cost: 20}, s.spend(two, 20))},
	}
	last := send(settlements...)
	if last.held != 1 || last.spent != 50 || last.running != 1 {
		t.Fatalf("after two settlements: %+v", last)
	}
	for _, batch := range [][]*settlement{settlements, settlements[1:], settlements[:1], {extension}} {
		if again := send(batch...); again != last {
			t.Errorf("sent again from %d: %+v, once: %+v", batch[0].number, again, last)
		}
	}
}
