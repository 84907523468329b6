package programs

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// atOnce is how many callers there are.
const atOnce = 8

// killedCores has one of two or three cores killed under load: those calls fail that were in
// flight on it, and no others; none is begun twice; it gets calls again when it is back.
func killedCores(t *testing.T, s stores) {
	count := map[bool]int{true: 3, false: 2}
	s.each(t, func(t *testing.T, data string) {
		f := fleet.New(t, data)
		for range count[strings.HasPrefix(data, "postgres://")] {
			f.Start(server.Address())
		}
		edge := f.Edge(f.Addresses()...)
		load := f.Load(edge, atOnce, 1000)
		load.Await(100)
		if failed := load.Failed(); len(failed) > 0 {
			t.Errorf("%d calls failed before the kill: %v", len(failed), failed)
		}
		f.Cores[0].Kill()
		load.Await(200)
		survived := len(load.Failed())
		back := f.Start(f.Cores[0].Address)
		fleet.Within(t, fleet.WaitLimit, "the core that is back gets no calls", func() bool { return len(back.Served()) > 0 })
		load.Await(50)
		load.Stop()
		failed := load.Failed()
		if len(failed) > atOnce || len(failed) != survived {
			t.Errorf("%d calls failed, %d of them when the core was back; %d were in flight at most\n%s", len(failed), len(failed)-survived, atOnce, edge.Log())
		}
		for _, c := range f.Cores[1:] {
			for n := range c.Served() {
				if seen, lost := failed[n]; lost {
					t.Errorf("request %d failed, although %v served it, which was not killed: %+v", n, c, seen)
				}
			}
		}
		ledger := load.Booked(rows.Open(t, data))
		for n := 1001; n <= load.Last(); n++ {
			seen, lost := failed[n]
			if answered := f.Vendors.Answered(n).Calls; answered > 1 || ledger[n] > 1 || !lost && (answered != 1 || ledger[n] != 1) {
				t.Errorf("request %d (failed: %v): the upstream was called %d times, and it has %d rows", n, lost, answered, ledger[n])
			}
			if lost && seen.Status != http.StatusServiceUnavailable && seen.Status != http.StatusOK {
				t.Errorf("request %d failed with %d: %s", n, seen.Status, seen.Body)
			}
		}
	})
}

// hungCores has one of two cores hang under load: it holds at most the calls of that moment,
// and one more for each caller; all others go to the other core. They share PostgreSQL: a
// process that is stopped while it writes into an SQLite file locks all others out.
func hungCores(t *testing.T, s stores) {
	f := fleet.New(t, s["PostgreSQL"](t))
	hung := f.Start(server.Address())
	f.Start(server.Address())
	edge := f.Edge(f.Addresses()...)
	load := f.Load(edge, 2*atOnce, 1000)
	load.Await(100)
	signal := func(s syscall.Signal) {
		if err := hung.Signal(s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	load.Await(300)
	if os.Getenv("GENWAY_CASES_HUNG") == "long" { // until it is found out
		if _, err := edge.Await("core is not ready"); err != nil {
			t.Error(err)
		}
		load.Await(300)
		t.Logf("%d calls failed, of %d callers", len(load.Failed()), 2*atOnce)
	}
	signal(syscall.SIGCONT)
	before := len(hung.Served())
	fleet.Within(t, fleet.WaitLimit, "the core that hung gets no calls", func() bool { return len(hung.Served()) > before+20 })
	load.Stop()
	allowed := 0
	if strings.Contains(edge.Log(), "core is not ready") { // it took so long that the edge has found it out
		allowed += 2 * atOnce
	}
	if failed := load.Failed(); len(failed) > allowed {
		t.Errorf("%d calls failed of a core that hung: %v\n%s", len(failed), failed, edge.Log())
	}
}

// restartedCores has each of two cores ended properly and started anew under load: no call
// fails, and streams that are open end whole.
func restartedCores(t *testing.T, _ stores) {
	f := fleet.New(t, t.TempDir())
	f.Start(server.Address())
	f.Start(server.Address())
	edge := f.Edge(f.Addresses()...)
	load := f.Load(edge, atOnce, 1000)
	load.Await(50)
	client := f.Client(edge)
	held := make(chan caller.Seen, 4)
	for n := range cap(held) {
		go func() {
			call := f.Call(vendors.Hold, n)
			call.Stream = true
			seen, err := client.Do(t.Context(), call)
			if err != nil {
				t.Error(err)
			}
			held <- seen
		}()
	}
	fleet.Within(t, fleet.WaitLimit, "the streams did not begin", func() bool {
		for n := range cap(held) {
			if f.Vendors.Answered(n).Calls == 0 {
				return false
			}
		}
		return true
	})
	for _, c := range f.Cores[:2] {
		if err := c.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		load.Await(100)
		f.Vendors.Release()
		select {
		case <-c.Exited():
		case <-time.After(fleet.WaitLimit):
			t.Fatalf("%v did not end", c)
		}
		back := f.Start(c.Address)
		fleet.Within(t, fleet.WaitLimit, "the core that is back gets no calls", func() bool { return len(back.Served()) > 0 })
	}
	for range cap(held) {
		if seen := <-held; !seen.Whole {
			t.Errorf("a stream was cut: %+v", seen)
		}
	}
	load.Stop()
	if failed := load.Failed(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %v\n%s", len(failed), load.Last()-1000, failed, edge.Log())
	}
}
