package network

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// atOnce is how many callers there are.
const atOnce = 8

// hosts are an edge and two cores, each on a host of its own; the vendors and the callers are
// on a fourth.
type hosts struct {
	*fleet.Fleet
	net              *Switch
	edge, one, other *Host
	front            *fleet.Edge
}

// long says that the tests have the time that they like.
func long() bool { return os.Getenv("GENWAY_NETWORK") == "long" }

func start(t *testing.T) *hosts {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: hosts of network namespaces need root and iproute2 (ip): nothing is known of partitions, delay and loss between edge and cores")
	}
	h := &hosts{net: NewSwitch(t)}
	own := h.net.Own()
	h.edge, h.one, h.other = h.net.Add("edge"), h.net.Add("one"), h.net.Add("other")
	h.Fleet = fleet.NewWithoutKeys(t, t.TempDir(), vendors.StartOn(t, own.IP+":0"))
	genway, err := server.Binary("genway")
	if err != nil {
		t.Fatal(err)
	}
	h.Made(genway)
	for _, host := range []*Host{h.one, h.other} {
		h.StartBy(host.Start, h.Data, host.IP+":9090")
	}
	h.front = h.EdgeBy(h.edge.Start, h.edge.IP+":8080", h.Addresses()...)
	return h
}

// books demands that no request above first was begun twice, and returns how many failed.
func (h *hosts) books(t *testing.T, load *fleet.Load, first int) int {
	t.Helper()
	load.Stop()
	failed, ledger := load.Failed(), load.Booked(rows.Open(t, h.Data))
	for n := first + 1; n <= load.Last(); n++ {
		seen, lost := failed[n]
		if served := h.Vendors.Answered(n).Calls; served > 1 || ledger[n] > 1 || !lost && served != 1 {
			t.Errorf("request %d (failed: %v, %+v): the upstream was called %d times, and it has %d rows", n, lost, seen, served, ledger[n])
		}
	}
	return len(failed)
}

// TestPartition cuts one core off under load. Calls go on at the other; those in flight on the
// core that is cut off fail at most; and it gets calls again when the network is whole.
func TestPartition(t *testing.T) {
	h := start(t)
	load := h.Load(h.front, atOnce, 1000)
	load.Await(100)
	for _, c := range h.Cores {
		fleet.Within(t, fleet.WaitLimit, "a core gets no calls", func() bool { return len(c.Served()) > 0 })
	}
	h.net.Set(h.edge, h.one, Link{Cut: true})
	load.Await(300)
	if long() {
		if _, err := h.front.Await("core is not ready"); err != nil {
			t.Error(err)
		}
		load.Await(1000)
	}
	before := len(h.Cores[0].Served())
	h.net.Set(h.edge, h.one, Link{})
	mended := time.Now()
	fleet.Within(t, fleet.WaitLimit, "the core gets no calls when the network is whole", func() bool { return len(h.Cores[0].Served()) > before+2*atOnce })
	t.Logf("the core that was cut off gets calls %v after the end of it", time.Since(mended).Round(time.Millisecond))
	load.Await(100)
	if failed := h.books(t, load, 1000); failed > atOnce {
		t.Errorf("%d calls failed; at most %d were in flight\n%s", failed, atOnce, h.front.Log())
	}
}

// TestBothCutOff cuts all cores off: calls fail by their protocol within 30 s, and succeed
// again soon after the network is whole.
func TestBothCutOff(t *testing.T) {
	if !long() {
		t.Skip("SKIPPED: all cores cut off takes 40 s: make network")
	}
	h := start(t)
	load := h.Load(h.front, atOnce, 1000)
	load.Await(50)
	for _, host := range []*Host{h.one, h.other} {
		h.net.Set(h.edge, host, Link{Cut: true})
	}
	fleet.Within(t, time.Minute, "no call fails", func() bool { return len(load.Failed()) > 2*atOnce })
	for n, seen := range load.Failed() {
		if seen.Status != 503 && seen.Status != 200 { // 200 is a stream that ends with an error
			t.Errorf("request %d: %+v", n, seen)
		}
	}
	for _, host := range []*Host{h.one, h.other} {
		h.net.Set(h.edge, host, Link{})
	}
	mended := time.Now()
	load.Await(50)
	t.Logf("50 answers %v after the network was whole", time.Since(mended).Round(time.Millisecond))
	h.books(t, load, 1000)
}

// TestLossAndDelay has frames between the edge and its cores be late and some lost: no call
// fails.
func TestLossAndDelay(t *testing.T) {
	h := start(t)
	for _, host := range []*Host{h.one, h.other} {
		h.net.Set(h.edge, host, Link{Delay: 10 * time.Millisecond, Loss: 0.02})
	}
	load := h.Load(h.front, atOnce, 1000)
	calls := 100
	if long() {
		calls = 5000
	}
	began := time.Now()
	load.Await(calls)
	t.Logf("%d calls in %v", calls, time.Since(began).Round(time.Millisecond))
	if failed := h.books(t, load, 1000); failed > 0 {
		t.Errorf("%d calls failed\n%s", failed, h.front.Log())
	}
}
