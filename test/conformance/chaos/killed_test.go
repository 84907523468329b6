package chaos

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// closedWithin is how long the rows of a killed core may stay open after its restart, and
// how long a request may be under way.
const closedWithin = time.Minute

// A core that is killed under load, again and again, loses no row of what was answered,
// nor what it used, and doubles none; what was in flight is closed within 10 s of the
// restart. Two of three cores keep the ledger as they do by default, the third waits for
// each row. On
// PostgreSQL a second core serves meanwhile, and either may be the one that is killed. A core behind an
// edge, which outlives it, has no answer go out whole whose row is not written.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := figure(t, "GENWAY_CHAOS_ROUNDS", 3)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		killAgain(t, server.Options{Data: t.TempDir()}, rounds, 1)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		killAgain(t, server.Options{Data: server.StartPostgres(t).Database(t)}, rounds, 2)
	})
	t.Run("edge and core, waiting for each row", func(t *testing.T) {
		t.Parallel()
		killAgain(t, server.Options{Data: t.TempDir(), TwoProcess: true, Args: []string{"--ledger-sync", "each"}}, rounds, 1)
	})
}

// fleet is cores on one store, and what their callers saw.
type fleet struct {
	t       *testing.T
	options server.Options
	vendors *vendors.Server
	leaving leavers
	cores   []*core
	started int
	next    atomic.Int64
	books   books
}

// core is one of a fleet, with its callers.
type core struct {
	*server.Server
	client       *caller.Client
	callers      sync.WaitGroup
	answered     atomic.Int64
	stop, killed atomic.Bool
	// under are the requests under way: int, bool.
	under sync.Map
}

func killAgain(t *testing.T, options server.Options, rounds, cores int) {
	t.Helper()
	v := vendors.Start(t)
	options.Args = append(options.Args, "--config", configure(t, v, ""))
	f := &fleet{t: t, vendors: v, options: options}
	v.Leave = f.leaving.leave
	for range cores {
		f.cores = append(f.cores, f.start())
	}
	db := rows.Open(t, options.Data)
	var slowest time.Duration
	interrupted := 0
	for round := range rounds {
		i := rand.IntN(cores)
		f.await(f.cores[i], 20+rand.Int64N(200))
		inFlight := f.kill(f.cores[i])
		interrupted += len(inFlight)
		f.cores[i] = f.start()
		restarted := time.Now()
		for open := inFlight; len(open) > 0; open = stillOpen(db.InFlight(t), inFlight) {
			slowest = max(slowest, time.Since(restarted))
			if time.Since(restarted) > closedWithin {
				t.Fatalf("round %d: %d rows are open %v after the restart", round, len(open), closedWithin)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, c := range f.cores {
		c.stop.Store(true)
		c.callers.Wait()
	}
	sum := f.books.check(t, atRest(t, db, 3*time.Minute), v)
	proved(t, options.Data)
	t.Logf("%d kills, %d requests in flight at them, the last closed %v after the restart at most; %+v", rounds, interrupted, slowest.Round(time.Millisecond), sum)
	if sum.Outcomes["interrupted"] == 0 || sum.Outcomes["ok"] == 0 {
		t.Errorf("nothing was killed, or nothing else was done: %+v", sum)
	}
}

// start starts a core, and four callers of it.
func (f *fleet) start() *core {
	f.t.Helper()
	options := f.options
	if f.started++; f.started%3 == 0 && !options.TwoProcess {
		options.Args = append([]string{"--ledger-sync", "each"}, options.Args...)
	}
	s, err := server.Launch(options)
	if err != nil {
		f.t.Fatal(err)
	}
	f.options.Keys = s.Keys
	c := &core{Server: s, client: client(f.t, s)}
	f.t.Cleanup(func() {
		if err := s.Stop(); err != nil && !c.killed.Load() {
			f.t.Error(err)
		}
	})
	for range 4 {
		c.callers.Go(func() {
			for !c.stop.Load() && !f.t.Failed() {
				f.call(c, mixed(s.Keys, int(f.next.Add(1))))
			}
		})
	}
	return c
}

// call makes a request. What a core that is killed did not answer is lost.
func (f *fleet) call(c *core, r request) {
	ctx, done := f.leaving.context(f.t.Context(), r.n)
	defer done()
	c.under.Store(r.n, true)
	defer c.under.Delete(r.n)
	seen, err := c.client.Do(ctx, r.call)
	// Who left does not see whether the core came to the end of it.
	lost := !seen.Whole && (c.killed.Load() || r.leaves())
	if err != nil && !lost && !r.leaves() {
		f.t.Errorf("request %d: %v", r.n, err)
	}
	if seen.Whole {
		c.answered.Add(1)
	}
	o := r.seen(seen)
	o.lost = lost
	f.books.note(o)
}

// await waits until a core has answered so many requests more.
func (f *fleet) await(c *core, more int64) {
	f.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until, deadline := c.answered.Load()+more, time.Now().Add(time.Minute); c.answered.Load() < until; <-tick.C {
		if time.Now().After(deadline) || f.t.Failed() {
			f.t.Fatalf("%d answers are missing\n%s", until-c.answered.Load(), c.Core.Log())
		}
	}
}

// kill kills a core and returns the numbers of what was under way.
func (f *fleet) kill(c *core) map[int]bool {
	f.t.Helper()
	under := map[int]bool{}
	c.killed.Store(true)
	c.under.Range(func(n, _ any) bool {
		under[n.(int)] = true
		return true
	})
	c.Core.Kill()
	c.stop.Store(true)
	c.callers.Wait()
	return under
}

// stillOpen returns those requests of a set that have an open row.
func stillOpen(open []rows.Row, of map[int]bool) map[int]bool {
	still := map[int]bool{}
	for _, r := range open {
		if n := vendors.Number(r.Model); of[n] {
			still[n] = true
		}
	}
	return still
}
