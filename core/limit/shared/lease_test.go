//go:build unix

package shared

import (
	"context"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/test/servers"
	"github.com/redis/go-redis/v9"
)

// beginOn makes a store and a limiter on it, and a connection to their server.
func beginOn(t *testing.T, config Config) (*Store, *limit.Limiter, *redis.Client) {
	t.Helper()
	server := servers.SharedRedis(t)
	config.URL, config.Prefix, config.Timeout = server.URL(), t.Name(), 10*time.Second
	s, err := Start(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	conn := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() {
		_ = conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, limit.New(s, limit.Rules{}), conn
}

// reserve has a request of key_a admitted.
func reserve(t *testing.T, l *limit.Limiter, limits limit.Limits, most limit.Amount) *limit.Reservation {
	t.Helper()
	r := l.Prepare(limit.Who{KeyID: "key_a", Limits: limits})
	if _, err := r.Reserve(t.Context(), most); err != nil {
		t.Fatal(err)
	}
	return r
}

// Case M2: what a request holds lasts as long as the request. A renewal prolongs the life
// of the names that it is held under, not only of its place in them, and never shortens
// what lives longer.
func TestM2RenewalsKeepWhatIsHeld(t *testing.T) {
	lease := 30 * time.Second
	s, l, conn := beginOn(t, Config{Lease: lease})
	limits := limit.Limits{Concurrent: 1, Budgets: []limit.Budget{{Amount: 10, Period: limit.Month}}}
	r := reserve(t, l, limits, limit.Amount{Cost: 7})
	names, err := conn.Keys(t.Context(), "{"+s.keys.prefix+"}:*").Result()
	if err != nil || len(names) != 3 {
		t.Fatalf("%q, %v", names, err)
	}
	running := s.keys.running(&limit.Subject{Scope: limit.Key, ID: "key_a"})
	left := func(name string) time.Duration {
		t.Helper()
		left, err := conn.PTTL(t.Context(), name).Result()
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	before := map[string]time.Duration{}
	for _, name := range names {
		before[name] = left(name)
	}
	// The life that a name has left after most of two leases.
	if ok, err := conn.PExpire(t.Context(), running, 9*time.Second).Result(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	s.renew(t.Context())
	if got := left(running); got <= lease {
		t.Errorf("after a renewal the requests at once are forgotten in %v, the lease is %v", got, lease)
	}
	for _, name := range names {
		if got := left(name); name != running && got < before[name]-10*time.Second {
			t.Errorf("%s lived for %v, after a renewal for %v", name, before[name], got)
		}
	}
	r.Settle(limit.Amount{})
	s.settled(t)
	if n, err := conn.Exists(t.Context(), running).Result(); err != nil || n != 0 {
		t.Errorf("a settled request still runs: %d, %v", n, err)
	}
	s.renew(t.Context())
	if n, err := conn.Exists(t.Context(), running).Result(); err != nil || n != 0 {
		t.Errorf("a renewal brings back what is over: %d, %v", n, err)
	}
}
