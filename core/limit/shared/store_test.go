//go:build unix

package shared_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
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

// ask reserves, and returns the reservation or the refusal.
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

// waitFor waits until something holds that others bring about.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute) // for a machine that is busy, and less than a mutant may take
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it does not come about")
		}
	}
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

// What a key has spent of which the server knows nothing is asked for by itself, not with all others.
func TestSeedsOfOne(t *testing.T) {
	var asked []string
	s := store(t, servers.SharedRedis(t), func(c *shared.Config) {
		c.Spent = func(_ context.Context, _ time.Time, keyID, owner string) ([]limit.Spend, error) {
			asked = append(asked, keyID+"/"+owner)
			return nil, nil
		}
	})
	l := limit.New(s, limit.Rules{Owners: []limit.Rule{{Pattern: "*", Limits: budget(100)}}})
	for range 2 {
		r, refusal := ask(t, l, who(budget(100)), limit.Amount{Cost: 30})
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		r.Settle(limit.Amount{})
	}
	closed(t, s)
	if want := []string{"/", "/", "key_a/", "/team"}; !slices.Equal(asked, want) {
		t.Errorf("the ledger is asked for %q, want %q", asked, want)
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
				c.Process, c.Policy, c.Logger = "core", policy, slog.New(slog.NewTextHandler(&log, nil))
				c.OnUnavailable = func(bool) { changes.Add(1) }
				c.Spent = func(context.Context, time.Time, string, string) ([]limit.Spend, error) {
					return []limit.Spend{{Process: "core", KeyID: "key_a", Owner: "team", Cost: ledger.Load()}}, nil
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

// gate is a way to a server that a test may close, and on which answers may be lost.
type gate struct {
	socket string
	mu     sync.Mutex
	conns  []net.Conn
	closed bool
	// mute has answers be lost, with their connections.
	mute atomic.Bool
}

func newGate(t *testing.T, server *servers.Redis) *gate {
	t.Helper()
	g := &gate{socket: filepath.Join(t.TempDir(), "s")}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", g.socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(context.Background(), "unix", server.Socket())
			if err != nil || !g.takes(near, far) {
				_ = near.Close()
				continue
			}
			served.Go(func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
			})
			served.Go(func() {
				_, _ = io.Copy(near, readerFunc(func(p []byte) (int, error) {
					n, err := far.Read(p)
					if g.mute.Load() {
						return 0, io.EOF
					}
					return n, err
				}))
				_ = near.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		g.close()
		served.Wait()
	})
	return g
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// takes reports whether the gate is open, and then has it close the connections when it is closed.
func (g *gate) takes(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.conns = append(g.conns, conns...)
		return true
	}
	for _, c := range conns {
		_ = c.Close()
	}
	return false
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, c := range g.conns {
		_ = c.Close()
	}
	g.conns = nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

// through has a core reach its server through the gate.
func (g *gate) through(c *shared.Config) { c.URL = "unix://" + g.socket }

// running waits until so many requests run under a limit of requests at once.
func running(t *testing.T, s *shared.Store, w limit.Who, want int64) {
	t.Helper()
	waitFor(t, func() bool {
		gauges, err := limit.New(s, limit.Rules{}).Gauges(t.Context(), w)
		return err == nil && gauges[0].Metric == limit.Concurrent && gauges[0].Known && gauges[0].Used == want
	})
}

// A request whose reservation the server has made, but whose answer was lost, holds nothing of it once the server is back, although
// its leases go on.
func TestAReservationOfUnknownFateIsReleased(t *testing.T) {
	server := servers.SharedRedis(t)
	g := newGate(t, server)
	long := func(c *shared.Config) { c.Lease = time.Hour }
	cut, other := store(t, server, func(c *shared.Config) { long(c); g.through(c) }), store(t, server, long)
	t.Cleanup(func() { closed(t, cut); closed(t, other) })
	w := who(limit.Limits{Concurrent: 1, Budgets: []limit.Budget{{Amount: 100, Period: limit.Month}}})
	// The core that is cut has a connection.
	first, refusal := ask(t, limit.New(cut, limit.Rules{}), w, limit.Amount{Cost: 60})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	first.Settle(limit.Amount{})
	running(t, other, w, 0)
	waitFor(t, func() bool {
		g.mute.Store(true)
		if _, err := limit.New(cut, limit.Rules{}).Prepare(w).Reserve(t.Context(), limit.Amount{Cost: 60}); !errors.Is(err, limit.ErrUnavailable) {
			t.Fatalf("a request whose answer is lost: %v", err)
		}
		r, refusal := ask(t, limit.New(other, limit.Rules{}), w, limit.Amount{Cost: 60})
		if refusal != nil {
			return true
		}
		// The connection was lost before the request was sent, by the late answer to another command.
		r.Settle(limit.Amount{})
		g.mute.Store(false)
		waitFor(t, func() bool { return !cut.Unavailable() })
		return false
	})
	g.mute.Store(false)
	waitFor(t, func() bool {
		r, refusal := ask(t, limit.New(other, limit.Rules{}), w, limit.Amount{Cost: 60})
		r.Settle(limit.Amount{})
		return refusal == nil
	})
}

// A server comes back empty, and one of two cores reaches it later than the other, which has asked the ledger by
// then for what both have spent: that counts once.
func TestAServerThatComesBackEmpty(t *testing.T) {
	server := servers.NewRedis(t)
	g := newGate(t, server)
	var spent [2]atomic.Int64
	var cores [2]*shared.Store
	with := limit.Limits{Concurrent: 9, Budgets: budget(1000).Budgets}
	for i := range cores {
		cores[i] = store(t, server, func(c *shared.Config) {
			if i == 1 {
				g.through(c)
			}
			c.Process, c.Policy = strconv.Itoa(i), shared.Policy{Local: true, Share: 0.5}
			c.Spent = func(context.Context, time.Time, string, string) ([]limit.Spend, error) {
				return []limit.Spend{{Process: "0", KeyID: "key_a", Cost: spent[0].Load()}, {Process: "1", KeyID: "key_a", Cost: spent[1].Load()}}, nil
			}
		})
		t.Cleanup(func() { closed(t, cores[i]) })
	}
	spend := func(i int, l limit.Limits, cost int64) {
		t.Helper()
		r, refusal := ask(t, limit.New(cores[i], limit.Rules{}), who(l), limit.Amount{Cost: cost})
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		r.Settle(limit.Amount{Cost: cost})
		spent[i].Add(cost)
	}
	spend(0, with, 100)
	spend(1, with, 100)
	under, refusal := ask(t, limit.New(cores[1], limit.Rules{}), who(with), limit.Amount{Cost: 50})
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	server.Kill()
	g.close()
	for i := range cores {
		spend(i, with, 100) // which finds out
	}
	spend(1, limit.Limits{}, 100) // the budget is removed, and set again
	spend(1, with, 100)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	left := func(i int, spent, held, runs int64) {
		t.Helper()
		l := limit.New(cores[i], limit.Rules{})
		running(t, cores[i], who(with), runs)
		if r, refusal := ask(t, l, who(with), limit.Amount{Cost: 1000 - spent - held + 1}); refusal == nil || refusal.Share > 0 {
			t.Errorf("core %d admits more than is left: %+v", i, refusal)
			r.Settle(limit.Amount{})
		}
		r, refusal := ask(t, l, who(with), limit.Amount{Cost: 1000 - spent - held})
		if refusal != nil {
			t.Errorf("core %d refuses what is left: %+v", i, refusal)
		}
		r.Settle(limit.Amount{})
		if got, want := fillOf(cores[i]), float64(spent)/1000; got != want {
			t.Errorf("core %d: %v of the budget is spent, want %v", i, got, want)
		}
	}
	waitFor(t, func() bool { return !cores[0].Unavailable() })
	left(0, 600, 0, 0)
	g.open()
	waitFor(t, func() bool { return !cores[1].Unavailable() })
	// What a request under way holds has come back with its core.
	left(0, 600, 50, 1)
	left(1, 600, 50, 1)
	under.Settle(limit.Amount{Cost: 10})
	left(0, 610, 0, 0)
	left(1, 610, 0, 0)
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

// What a core could not report at its end is an error only where a budget bounded it: a budget that is set later has the
// rest from the ledger.
func TestSpentWithoutABudgetIsNotLost(t *testing.T) {
	for _, w := range []limit.Who{who(limit.Limits{}), who(budget(9))} {
		s := store(t, servers.NewRedis(t), func(c *shared.Config) {
			c.URL, c.Policy = "redis://127.0.0.1:1", shared.Policy{Local: true, Share: 1}
		})
		r := limit.New(s, limit.Rules{}).Prepare(w)
		if _, err := r.Reserve(t.Context(), limit.Amount{Cost: 1}); err != nil {
			t.Fatal(err)
		}
		r.Settle(limit.Amount{Cost: 1})
		if err := s.Close(); (err != nil) != r.Budgeted() {
			t.Errorf("budgeted: %v, %v", r.Budgeted(), err)
		}
	}
}
