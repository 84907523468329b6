//go:build unix

package cases_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/servers"
)

func limitCases() []Case {
	return []Case{
		{"M2", "a request under way holds its place and its money in a shared store for as long as it runs, however short its lease, against all cores", heldWhileRunning},
	}
}

// heldWhileRunning has one core run a request for longer than a lease, while another asks for its
// place.
func heldWhileRunning(t *testing.T) {
	const lease = 3 * time.Second // which a machine that is busy renews in time
	server := servers.SharedRedis(t)
	var cores [2]*limit.Limiter
	for i := range cores {
		store, err := shared.Start(context.WithoutCancel(t.Context()), shared.Config{URL: server.URL(), Prefix: t.Name(), Timeout: 10 * time.Second, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		cores[i] = limit.New(store, limit.Rules{})
	}
	conn := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	defer conn.Close()
	// Leases end by the server's clock.
	now := func() time.Time {
		t.Helper()
		at, err := conn.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	ask := func(core *limit.Limiter, limits limit.Limits) (*limit.Reservation, *limit.Refusal) {
		t.Helper()
		r := core.Prepare(limit.Who{KeyID: "key_a", Limits: limits})
		_, err := r.Reserve(t.Context(), limit.Amount{Cost: 6})
		refusal, refused := errors.AsType[*limit.Refusal](err)
		if err != nil && !refused {
			t.Fatal(err)
		}
		return r, refusal
	}
	place := limit.Limits{Concurrent: 1, Budgets: []limit.Budget{{Amount: 10, Period: limit.Month}}}
	money := limit.Limits{Budgets: place.Budgets}
	running, refusal := ask(cores[0], place)
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	tick := time.NewTicker(lease / 20)
	defer tick.Stop()
	for begun := now(); now().Sub(begun) < lease*3/2; <-tick.C {
		if _, refusal := ask(cores[1], limit.Limits{Concurrent: 1}); refusal == nil || refusal.Metric != limit.Concurrent {
			t.Fatalf("its place is another's after %v: %+v", now().Sub(begun), refusal)
		}
		if _, refusal := ask(cores[1], money); refusal == nil || !refusal.Held {
			t.Fatalf("its money is another's after %v: %+v", now().Sub(begun), refusal)
		}
	}
	running.Settle(limit.Amount{})
	for deadline := now().Add(time.Minute); ; <-tick.C {
		if next, refusal := ask(cores[1], place); refusal == nil {
			next.Settle(limit.Amount{})
			return
		}
		if now().After(deadline) {
			t.Fatal("what it held is not free after its end")
		}
	}
}
