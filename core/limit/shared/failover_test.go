//go:build unix

package shared_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/servers"
)

// storeAt is one core's store at a URL.
func storeAt(t *testing.T, url string, timeout time.Duration) *shared.Store {
	t.Helper()
	s, err := shared.Start(context.WithoutCancel(t.Context()), shared.Config{URL: url, Prefix: "limits", Timeout: timeout, Policy: shared.Policy{Local: true, Share: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	return s
}

// Cases X51 and X52: under Sentinel limits go on when the primary dies, or hangs with open
// connections: requests are held to the local share until the replica is the primary, which
// knows what was counted, and then to the whole limit, by both cores.
func TestX51LimitsGoOnAfterAFailover(t *testing.T) { //nolint:tparallel // the two run at once, and with no other test
	for name, end := range map[string]func(*servers.Sentinel){"killed": (*servers.Sentinel).KillPrimary, "frozen": (*servers.Sentinel).FreezePrimary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := servers.NewSentinel(t)
			const noticed = 3 * time.Second // far more than an answer takes on a machine that is busy
			stores := [2]*shared.Store{storeAt(t, site.URL(), noticed), storeAt(t, site.URL(), noticed)}
			w := who(limit.Limits{Budgets: []limit.Budget{{Amount: 1000, Period: limit.Month}}})
			settle := func(s *shared.Store, cost int64) {
				t.Helper()
				r, refusal := ask(t, limit.New(s, limit.Rules{}), w, limit.Amount{Cost: cost})
				if refusal != nil {
					t.Fatalf("%+v", refusal)
				}
				r.Settle(limit.Amount{Cost: cost})
			}
			settle(stores[0], 300)
			settle(stores[1], 300)
			// Both have settled, and the replica has it: the primary waits for it.
			waitFor(t, func() bool {
				answer, err := site.Primary.Command("HGET", "{limits}:money:month:"+limit.Month.Start(time.Now()).Format(time.DateOnly)+":key:key_a", "spent")
				return err == nil && answer == "600"
			})
			if _, err := site.Primary.Command("WAIT", "1", "0"); err != nil {
				t.Fatal(err)
			}
			end(site)
			for _, s := range stores {
				// What finds out that the primary is away is admitted by the local share.
				settle(s, 10)
				if !s.Unavailable() {
					t.Error("a primary that has ended counts")
				}
			}
			if err := site.Failover(); err != nil {
				t.Fatal(err)
			}
			for _, s := range stores {
				waitFor(t, func() bool { return !s.Unavailable() })
			}
			// 620 are spent: 380 fit, by either core, and no more.
			waitFor(t, func() bool {
				r, refusal := ask(t, limit.New(stores[0], limit.Rules{}), w, limit.Amount{Cost: 381})
				r.Settle(limit.Amount{})
				return refusal != nil && !stores[0].Unavailable()
			})
			settle(stores[1], 380)
			waitFor(t, func() bool {
				_, refusal := ask(t, limit.New(stores[0], limit.Rules{}), w, limit.Amount{Cost: 1})
				return refusal != nil && !refusal.Held && refusal.Share == 0
			})
		})
	}
}

// Case X53: on a Cluster of three, two cores at once admit exactly what a limit has, all keys of a
// decision are on one node, and the death of that node is a server that does not answer, of
// another one nothing.
func TestX53ACluster(t *testing.T) {
	t.Parallel()
	cluster := servers.NewCluster(t)
	stores := [2]*shared.Store{storeAt(t, cluster.URL(), answerWithin), storeAt(t, cluster.URL(), answerWithin)}
	w := who(limit.Limits{RequestsPerMinute: 50, TokensPerMinute: 1_000_000, Concurrent: 1000,
		Budgets: []limit.Budget{{Amount: 1_000_000, Period: limit.Day}, {Amount: 1_000_000, Period: limit.Month}}})
	begun := time.Now()
	var admitted atomic.Int64
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			r := limit.New(stores[i%2], limit.Rules{}).Prepare(w)
			_, err := r.Reserve(context.Background(), limit.Amount{Tokens: 10, Cost: 10})
			if _, refused := errors.AsType[*limit.Refusal](err); err != nil && !refused {
				t.Error(err)
			}
			if err == nil {
				admitted.Add(1)
				r.Extend(limit.Amount{Tokens: 1, Cost: 1})
				r.Settle(limit.Amount{Tokens: 5, Cost: 5})
			}
		})
	}
	group.Wait()
	more := int64(time.Since(begun)/(1200*time.Millisecond)) + 1 // a rate of 50 a minute
	if n := admitted.Load(); n < 50 || n > 50+more {
		t.Errorf("%d admitted of 50 a minute", n)
	}
	var with []int
	for i, node := range cluster.Nodes {
		if size, err := node.Command("DBSIZE"); err != nil {
			t.Fatal(err)
		} else if size != "0" {
			with = append(with, i)
		}
	}
	if len(with) != 1 {
		t.Fatalf("nodes %v have keys", with)
	}
	cluster.Nodes[with[0]].Kill()
	r := limit.New(stores[0], limit.Rules{}).Prepare(who(limit.Limits{Concurrent: 10}))
	if _, err := r.Reserve(t.Context(), limit.Amount{}); err != nil {
		t.Errorf("the local share: %v", err)
	}
	if !stores[0].Unavailable() {
		t.Error("a node that is dead counts")
	}
}
