package roll

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/conformance/server"
)

// site is two cores on one store, and two edges in front of both.
type site struct {
	tb           testing.TB
	cores, edges []*station
	key          string
	mu           sync.Mutex // for the processes of stations
}

// station is one program at a fixed address.
type station struct {
	*server.Process
	name, up, address string
	args              []string
}

// newSite starts the programs, with a shutdown delay.
func newSite(tb testing.TB, delay time.Duration) *site {
	tb.Helper()
	s := &site{tb: tb}
	data := tb.TempDir()
	secret := filepath.Join(data, "edge.secret")
	if err := os.WriteFile(secret, []byte("a secret of edges"), 0o600); err != nil {
		tb.Fatal(err)
	}
	var err error
	if s.key, err = server.CreateKey(data, "chat", "roll"); err != nil {
		tb.Fatal(err)
	}
	common := []string{"--edge-secret-file", secret, "--shutdown-delay", delay.String(), "--grace", "45s", "--log-format", "json"}
	addresses := free(tb, 4)
	for _, address := range addresses[:2] {
		s.cores = append(s.cores, &station{name: "genway-core", up: "core is up", address: address,
			args: slices.Concat(server.At(data), []string{"--grpc", address}, common)})
	}
	for _, address := range addresses[2:] {
		s.edges = append(s.edges, &station{name: "genway-edge", up: "edge is up", address: address,
			args: slices.Concat([]string{"--core", addresses[0] + "," + addresses[1], "--http", address}, common)})
	}
	for _, program := range slices.Concat(s.cores, s.edges) {
		s.start(program)
		tb.Cleanup(func() { program.Kill() })
	}
	for _, core := range s.cores {
		s.await(core, nil)
	}
	return s
}

// free gives addresses on which no server listens.
func free(tb testing.TB, n int) []string {
	tb.Helper()
	addresses := make([]string, 0, n)
	held := make([]net.Listener, 0, n)
	for range n {
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		addresses = append(addresses, listener.Addr().String())
		held = append(held, listener) // all at once, so that no address is given twice
	}
	for _, listener := range held {
		_ = listener.Close()
	}
	return addresses
}

func (s *site) start(p *station) {
	process, err := server.StartProcess(p.name, p.args...)
	if err == nil {
		s.mu.Lock()
		p.Process = process
		s.mu.Unlock()
		_, err = process.Await(p.up)
	}
	if err != nil {
		s.tb.Error(err)
	}
}

// restart ends a program as an operator does and starts it again. It returns once the
// new one is in use.
func (s *site) restart(p *station, b *balancer) {
	seen := s.seen(p)
	if err := p.Stop(); err != nil {
		s.tb.Error(err)
	}
	s.start(p)
	if p.name == "genway-core" {
		s.await(p, seen)
		return
	}
	if !within(func() bool { return b.ready(p.address) }) {
		s.tb.Errorf("the edge %s does not become ready again\n%s", p.address, p.Log())
	}
}

// seen is how often each edge has found a core, by process.
func (s *site) seen(core *station) map[*server.Process]int {
	seen := map[*server.Process]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, edge := range s.edges {
		seen[edge.Process] = strings.Count(edge.Log(), `"msg":"core is ready","core":"`+core.address+`"`)
	}
	return seen
}

// await waits until each edge has found a core once more than before.
func (s *site) await(core *station, before map[*server.Process]int) {
	if !within(func() bool {
		for process, count := range s.seen(core) {
			if count <= before[process] {
				return false
			}
		}
		return true
	}) {
		s.tb.Errorf("the core %s is not found again", core.address)
	}
}

// within waits for something, for a minute at most.
func within(holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
