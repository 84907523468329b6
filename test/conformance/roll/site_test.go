package roll

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
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

// newSite starts the programs, with a shutdown delay that restart ends.
func newSite(tb testing.TB) *site {
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
	common := []string{"--edge-secret-file", secret, "--shutdown-delay", "1h", "--grace", "45s", "--log-format", "json"}
	var addresses []string
	for range 4 {
		addresses = append(addresses, server.Address())
	}
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
		s.await(ready, core, nil)
	}
	return s
}

// warm has each core look the key up, by a function that makes a request: a core refuses a key, unread, where
// its store does not answer in time, as on a busy machine, and then the other core must know it.
func (s *site) warm(ask func()) {
	for _, core := range s.cores {
		if !within(func() bool {
			ask()
			return strings.Contains(core.Log(), `"asked_model":`)
		}) {
			s.tb.Fatalf("the core %s serves nothing\n%s", core.address, core.Log())
		}
	}
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

// restart ends a program as an operator does, once those before it have seen that it is about to end, and
// starts it again. It returns once the new one is in use.
func (s *site) restart(p *station, b *balancer) {
	isCore := p.name == "genway-core"
	wasReady, wasLeaving := s.seen(ready, p), s.seen(notReady, p)
	if err := p.Signal(syscall.SIGTERM); err != nil {
		s.tb.Error(err)
	}
	if isCore {
		s.await(notReady, p, wasLeaving)
	} else if !within(func() bool { return !b.ready(p.address) }) {
		s.tb.Errorf("the edge %s stays ready\n%s", p.address, p.Log())
	}
	if err := p.Stop(); err != nil { // by a second signal, which ends the delay
		s.tb.Error(err)
	}
	s.start(p)
	if isCore {
		s.await(ready, p, wasReady)
		return
	}
	if !within(func() bool { return b.ready(p.address) }) {
		s.tb.Errorf("the edge %s does not become ready again\n%s", p.address, p.Log())
	}
}

// What edges log of a core.
const ready, notReady = "core is ready", "core is not ready"

// seen is how often each edge has logged something of a core, by process.
func (s *site) seen(what string, core *station) map[*server.Process]int {
	seen := map[*server.Process]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, edge := range s.edges {
		seen[edge.Process] = strings.Count(edge.Log(), `"msg":"`+what+`","core":"`+core.address+`"`)
	}
	return seen
}

// await waits until each edge has logged something of a core once more than before.
func (s *site) await(what string, core *station, before map[*server.Process]int) {
	if !within(func() bool {
		for process, count := range s.seen(what, core) {
			if count <= before[process] {
				return false
			}
		}
		return true
	}) {
		s.tb.Errorf("an edge does not log %q of %s", what, core.address)
	}
}

// within waits for something, for three minutes at most: far longer than it takes, for a machine that is busy.
func within(holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
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
