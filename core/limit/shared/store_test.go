//go:build unix

package shared_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/servers"
	"github.com/redis/go-redis/v9"
)

// answerWithin is for machines that are busy: what is tested is not how fast a server is.
const answerWithin = 10 * time.Second

// store is one core's, under names of the test's own.
func store(t *testing.T, server *servers.Redis, change func(*shared.Config)) *shared.Store {
	t.Helper()
	c := shared.Config{URL: server.URL(), Prefix: t.Name(), Timeout: answerWithin}
	if change != nil {
		change(&c)
	}
	s, err := shared.Start(context.WithoutCancel(t.Context()), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *shared.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func client(t *testing.T, server *servers.Redis) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func who(l limit.Limits) limit.Who {
	return limit.Who{KeyID: "key_a", Owner: "team", Model: "m", Limits: l}
}

func budget(amount int64) limit.Limits {
	return limit.Limits{Budgets: []limit.Budget{{Amount: amount, Period: limit.Month}}}
}

// ask reserves, and gives the reservation or the refusal.
func ask(t *testing.T, l *limit.Limiter, w limit.Who, most limit.Amount) (*limit.Reservation, *limit.Refusal) {
	t.Helper()
	r := l.Prepare(w)
	_, err := r.Reserve(t.Context(), most)
	if err == nil {
		return r, nil
	}
	refusal, ok := errors.AsType[*limit.Refusal](err)
	if !ok {
		t.Fatal(err)
	}
	return nil, refusal
}

// Two cores with 1,000 requests at once against a budget for k admit exactly k, and what
// is settled counts for both.
func TestTwoCoresAgainstABudget(t *testing.T) {
	const k, cost = 137, 1_000_003
	server := servers.SharedRedis(t)
	var cores [2]*limit.Limiter
	for i := range cores {
		s := store(t, server, nil)
		t.Cleanup(func() { closed(t, s) })
		cores[i] = limit.New(s, limit.Rules{})
	}
	var admitted, refused atomic.Int64
	reservations := make(chan *limit.Reservation, 1000)
	var group sync.WaitGroup
	for i := range 1000 {
		group.Go(func() {
			r := cores[i%2].Prepare(who(budget(k * cost)))
			_, err := r.Reserve(context.Background(), limit.Amount{Cost: cost})
			if err == nil {
				admitted.Add(1)
				reservations <- r
				return
			}
			if refusal, ok := errors.AsType[*limit.Refusal](err); !ok || refusal.Metric != limit.Money || !refusal.Held {
				t.Errorf("%v", err)
			}
			refused.Add(1)
		})
	}
	group.Wait()
	close(reservations)
	if admitted.Load() != k || refused.Load() != 1000-k {
		t.Fatalf("%d admitted, %d refused, want %d", admitted.Load(), refused.Load(), k)
	}
	for r := range reservations {
		r.Settle(limit.Amount{Cost: cost / 2})
	}
	// Half is left once the settlements have arrived.
	for _, core := range cores {
		waitFor(t, func() bool {
			r := core.Prepare(who(budget(k * cost)))
			_, err := r.Reserve(t.Context(), limit.Amount{Cost: k * (cost - cost/2)})
			r.Settle(limit.Amount{})
			return err == nil
		})
	}
	waitFor(t, func() bool {
		r, refusal := ask(t, cores[0], who(budget(k*cost)), limit.Amount{Cost: k*(cost-cost/2) + 1})
		r.Settle(limit.Amount{})
		return refusal != nil && !refusal.Held
	})
}

// waitFor waits until something holds that others bring about.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(3 * time.Minute) // for a machine that is busy
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it does not come about")
		}
	}
}

// Every limit is held across cores, and says what memory's would.
func TestEveryLimitAcrossCores(t *testing.T) {
	server := servers.SharedRedis(t)
	for _, c := range []struct {
		name   string
		limits limit.Limits
		most   limit.Amount
		admits int
		more   time.Duration // after which one more is admitted
		metric limit.Metric
	}{
		{"requests", limit.Limits{RequestsPerMinute: 7}, limit.Amount{}, 7, time.Minute / 7, limit.Requests},
		{"tokens", limit.Limits{TokensPerMinute: 100}, limit.Amount{Tokens: 30}, 3, time.Minute / 5, limit.Tokens},
		{"concurrent", limit.Limits{Concurrent: 4}, limit.Amount{}, 4, time.Hour, limit.Concurrent},
		{"budget", budget(50), limit.Amount{Cost: 11}, 4, time.Hour, limit.Money},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := store(t, server, nil), store(t, server, nil)
			defer closed(t, a)
			defer closed(t, b)
			cores := []*limit.Limiter{limit.New(a, limit.Rules{}), limit.New(b, limit.Rules{})}
			admitted, begun := 0, time.Now()
			for i := range 2 * c.admits {
				r, refusal := ask(t, cores[i%2], who(c.limits), c.most)
				if refusal == nil {
					admitted++
					_ = r
					continue
				}
				if refusal.Metric != c.metric || refusal.Scope != limit.Key || refusal.After <= 0 || refusal.After > time.Minute {
					t.Errorf("%+v", refusal)
				}
			}
			if admitted < c.admits || admitted > c.admits+int(time.Since(begun)/c.more) {
				t.Errorf("%d admitted, want %d", admitted, c.admits)
			}
		})
	}
}

// A refusal by one limit takes nothing of the others.
func TestAllOrNothing(t *testing.T) {
	s := store(t, servers.SharedRedis(t), nil)
	defer closed(t, s)
	l := limit.New(s, limit.Rules{Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{Concurrent: 1}}}})
	w := who(limit.Limits{RequestsPerMinute: 3, TokensPerMinute: 100, Budgets: []limit.Budget{{Amount: 10, Period: limit.Day}}})
	first, refusal := ask(t, l, w, limit.Amount{Tokens: 50, Cost: 5})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	for range 10 {
		if _, refusal := ask(t, l, w, limit.Amount{Tokens: 50, Cost: 5}); refusal == nil || refusal.Metric != limit.Concurrent || refusal.Scope != limit.Model {
			t.Fatalf("%+v", refusal)
		}
	}
	first.Settle(limit.Amount{Tokens: 50, Cost: 5})
	waitFor(t, func() bool {
		_, refusal := ask(t, l, w, limit.Amount{Tokens: 50, Cost: 5})
		if refusal != nil && refusal.Metric != limit.Concurrent {
			t.Fatalf("%+v", refusal)
		}
		return refusal == nil
	})
}

// What a core that died held comes back when its leases end; what a living one holds
// does not.
func TestLeases(t *testing.T) {
	server := servers.SharedRedis(t)
	lease := func(c *shared.Config) { c.Lease = 3 * time.Second } // which a machine that is busy renews in time
	dead, living := store(t, server, lease), store(t, server, lease)
	defer closed(t, living)
	w := who(limit.Limits{Concurrent: 3, Budgets: []limit.Budget{{Amount: 30, Period: limit.Day}}})
	held := limit.New(living, limit.Rules{})
	if _, refusal := ask(t, held, w, limit.Amount{Cost: 10}); refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	for range 2 {
		if _, refusal := ask(t, limit.New(dead, limit.Rules{}), w, limit.Amount{Cost: 10}); refusal != nil {
			t.Fatalf("%+v", refusal)
		}
	}
	if _, refusal := ask(t, held, w, limit.Amount{Cost: 10}); refusal == nil {
		t.Fatal("a fourth is admitted")
	}
	closed(t, dead) // without settling, as a kill would
	waitFor(t, func() bool {
		_, refusal := ask(t, held, w, limit.Amount{Cost: 20})
		return refusal == nil
	})
	if _, refusal := ask(t, held, w, limit.Amount{Cost: 1}); refusal == nil || !refusal.Held {
		t.Errorf("the living core's lease ended: %+v", refusal)
	}
}

// A key that the server knows nothing of is asked for by itself, not with all others.
func TestSeedsOfOne(t *testing.T) {
	server := servers.SharedRedis(t)
	var all, single atomic.Int64
	s := store(t, server, func(c *shared.Config) {
		c.Spent = func(context.Context, time.Time) ([]limit.Spend, error) {
			all.Add(1)
			return nil, nil
		}
		c.SpentBy = func(_ context.Context, scope limit.Scope, id string, _ time.Time) (int64, error) {
			single.Add(1)
			return map[limit.Scope]map[string]int64{limit.Key: {"key_a": 70}}[scope][id], nil
		}
	})
	atStart := all.Load()
	l := limit.New(s, limit.Rules{})
	if _, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: 31}); refusal == nil || refusal.Held {
		t.Errorf("%+v", refusal)
	}
	r, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: 30})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	r.Settle(limit.Amount{})
	if all.Load() != atStart || single.Load() == 0 {
		t.Errorf("all were asked for %d times after the start, single ones %d times", all.Load()-atStart, single.Load())
	}
	closed(t, s)
}

// What was spent before is known from the ledger: on a server that knows nothing, and
// where a core was killed before it settled.
func TestSeeds(t *testing.T) {
	server := servers.SharedRedis(t)
	var ledger atomic.Int64
	ledger.Store(70)
	spent := func(c *shared.Config) {
		c.Spent = func(context.Context, time.Time) ([]limit.Spend, error) {
			return []limit.Spend{{KeyID: "key_a", Owner: "team", Cost: ledger.Load()}, {KeyID: "key_b", Cost: 1}}, nil
		}
	}
	s := store(t, server, spent)
	l := limit.New(s, limit.Rules{})
	if _, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: 31}); refusal == nil || refusal.Held {
		t.Errorf("%+v", refusal)
	}
	r, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: 30})
	if refusal != nil {
		t.Errorf("%+v", refusal)
	}
	r.Settle(limit.Amount{Cost: 10})
	closed(t, s)
	// 80 are known; the ledger says less to one core and more to another.
	for _, c := range []struct{ ledger, left int64 }{{75, 20}, {95, 5}} {
		ledger.Store(c.ledger)
		s := store(t, server, spent)
		l := limit.New(s, limit.Rules{})
		if _, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: c.left + 1}); refusal == nil {
			t.Errorf("with %d in the ledger, more than %d is admitted", c.ledger, c.left)
		}
		r, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: c.left})
		if refusal != nil {
			t.Errorf("with %d in the ledger: %+v", c.ledger, refusal)
		}
		r.Settle(limit.Amount{})
		closed(t, s)
	}
}

// The server is killed under load. With policy local each core goes on with its share,
// with closed all are refused; both say so once, and once more when it is back; and what
// was spent meanwhile is settled then.
func TestServerUnavailable(t *testing.T) {
	for _, policy := range []shared.Policy{{Local: true, Share: 0.5}, {}} {
		t.Run(map[bool]string{true: "local", false: "closed"}[policy.Local], func(t *testing.T) {
			server := servers.NewRedis(t)
			var log syncBuffer
			var changes atomic.Int64
			var ledger atomic.Int64
			s := store(t, server, func(c *shared.Config) {
				c.Policy, c.Logger = policy, slog.New(slog.NewTextHandler(&log, nil))
				c.OnUnavailable = func(bool) { changes.Add(1) }
				c.Spent = func(context.Context, time.Time) ([]limit.Spend, error) {
					return []limit.Spend{{KeyID: "key_a", Owner: "team", Cost: ledger.Load()}}, nil
				}
			})
			l := limit.New(s, limit.Rules{})
			w := who(limit.Limits{RequestsPerMinute: 1000, Budgets: []limit.Budget{{Amount: 1000, Period: limit.Month}}})
			// Load, of which each request costs 1.
			ctx, stop := context.WithCancel(t.Context())
			var load sync.WaitGroup
			var admitted, locally, refused, unavailable atomic.Int64
			for range 8 {
				load.Go(func() {
					for ctx.Err() == nil {
						r := l.Prepare(w)
						_, err := r.Reserve(context.Background(), limit.Amount{Cost: 1})
						switch {
						case err == nil:
							admitted.Add(1)
							if s.Unavailable() {
								locally.Add(1)
							}
							r.Settle(limit.Amount{Cost: 1})
							ledger.Add(1)
						case errors.Is(err, limit.ErrUnavailable):
							unavailable.Add(1)
						default:
							refused.Add(1)
						}
					}
				})
			}
			waitFor(t, func() bool { return admitted.Load() >= 100 })
			server.Kill()
			waitFor(t, s.Unavailable)
			if policy.Local {
				waitFor(t, func() bool { return locally.Load() > 0 && refused.Load() > 0 })
			} else {
				waitFor(t, func() bool { return unavailable.Load() > 100 })
			}
			stop()
			load.Wait()
			if !policy.Local && locally.Load() > 8 { // those between the kill and its notice
				t.Errorf("%d admitted while closed", locally.Load())
			}
			if got := admitted.Load(); got > 1000 {
				t.Errorf("%d admitted of 1000", got)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return !s.Unavailable() })
			spent := ledger.Load()
			waitFor(t, func() bool {
				_, refusal := ask(t, l, who(budget(1000)), limit.Amount{Cost: 1000 - spent + 1})
				return refusal != nil
			})
			r, refusal := ask(t, l, who(budget(1000)), limit.Amount{Cost: 1000 - spent})
			if refusal != nil {
				t.Errorf("after %d were spent: %+v", spent, refusal)
			}
			r.Settle(limit.Amount{})
			closed(t, s)
			text := log.String()
			if strings.Count(text, "does not answer") != 1 || strings.Count(text, "answers again") != 1 || changes.Load() != 2 {
				t.Errorf("%d changes, log:\n%s", changes.Load(), text)
			}
		})
	}
}

// A server that answers questions and refuses to count, as one whose memory is full, does not take turns
// between being there and not: the limits stay with the policy until it counts again, which the log says once. The
// log has the server's reason, also where the server refused settlements.
func TestAServerThatRefusesToCount(t *testing.T) {
	for name, limits := range map[string]limit.Limits{"requests": {RequestsPerMinute: 1000}, "tokens": {TokensPerMinute: 1000}} {
		t.Run(name, func(t *testing.T) {
			server := servers.NewRedis(t)
			operator := client(t, server)
			var log syncBuffer
			var changes atomic.Int64
			s := store(t, server, func(c *shared.Config) {
				c.Logger, c.OnUnavailable = slog.New(slog.NewTextHandler(&log, nil)), func(bool) { changes.Add(1) }
			})
			l := limit.New(s, limit.Rules{})
			first, refusal := ask(t, l, who(limits), limit.Amount{Tokens: 10})
			if refusal != nil {
				t.Fatal(refusal)
			}
			if err := operator.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
			if limits.TokensPerMinute > 0 {
				first.Settle(limit.Amount{Tokens: 1})
				waitFor(t, s.Unavailable)
			} else if _, err := l.Prepare(who(limits)).Reserve(t.Context(), limit.Amount{}); !errors.Is(err, limit.ErrUnavailable) {
				t.Fatalf("a request that cannot be counted: %v", err)
			}
			before := asked(t, operator)
			waitFor(t, func() bool { return changes.Load() != 1 || asked(t, operator) >= before+4 })
			if !s.Unavailable() || changes.Load() != 1 {
				t.Errorf("%d changes while the server refuses", changes.Load())
			}
			if err := operator.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return !s.Unavailable() })
			closed(t, s)
			text := log.String()
			if strings.Count(text, "does not answer") != 1 || strings.Count(text, "answers again") != 1 || !strings.Contains(text, "OOM") {
				t.Errorf("log:\n%s", text)
			}
		})
	}
}

// asked is how many commands a server has had that a core sends to find out whether it counts.
func asked(t *testing.T, operator *redis.Client) (calls int) {
	t.Helper()
	text, err := operator.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		for _, command := range []string{"cmdstat_evalsha:", "cmdstat_pexpire:", "cmdstat_multi:"} {
			if figures, found := strings.CutPrefix(line, command+"calls="); found {
				n, _ := strconv.Atoi(figures[:strings.IndexByte(figures, ',')])
				calls += n
			}
		}
	}
	return calls
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A server that is not there is no reason not to start, and its password is not shown.
func TestStartWithoutServer(t *testing.T) {
	var log syncBuffer
	s, err := shared.Start(t.Context(), shared.Config{URL: "unix://:hunter2@/nowhere/at/all", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := limit.New(s, limit.Rules{}).Prepare(who(budget(1))).Reserve(t.Context(), limit.Amount{Cost: 1}); !errors.Is(err, limit.ErrUnavailable) {
		t.Error(err)
	}
	// What has no limits needs no server.
	if _, err := limit.New(s, limit.Rules{}).Prepare(who(limit.Limits{})).Reserve(t.Context(), limit.Amount{Cost: 1}); err != nil {
		t.Error(err)
	}
	closed(t, s)
	if !strings.Contains(log.String(), "does not answer") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("log: %s", &log)
	}
	for _, url := range []string{"http://:hunter2@x", "redis://:hunter2@x:port", "redis://:hunter2@x/db", "redis://:hunter2@%zz"} {
		if _, err := shared.Start(t.Context(), shared.Config{URL: url}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Nothing stays on the server for good.
func TestEverythingExpires(t *testing.T) {
	server := servers.NewRedis(t)
	s := store(t, server, nil)
	l := limit.New(s, limit.Rules{})
	w := who(limit.Limits{RequestsPerMinute: 9, TokensPerMinute: 90, Concurrent: 5,
		Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}, {Amount: 100, Period: limit.Month}}})
	for i := range 4 {
		r, refusal := ask(t, l, w, limit.Amount{Tokens: 9, Cost: int64(i)})
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		if i%2 == 0 {
			r.Extend(limit.Amount{Tokens: 5, Cost: 5})
		}
		if i > 1 {
			r.Settle(limit.Amount{Tokens: 2, Cost: 2})
		}
	}
	closed(t, s)
	c := client(t, server)
	names, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(names) != 8 {
		t.Errorf("%d names: %q, %v", len(names), names, err)
	}
	for _, name := range names {
		left, err := c.PTTL(t.Context(), name).Result()
		if err != nil || left <= 0 || left > 33*24*time.Hour {
			t.Errorf("%s lives for %v, %v", name, left, err)
		}
		if !strings.HasPrefix(name, "{"+t.Name()+"}:") {
			t.Errorf("%s has no hash tag", name)
		}
	}
}
