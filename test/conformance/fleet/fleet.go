// Package fleet runs several cores on one store, and an edge in front of them. The cores lead
// to the fake vendors, which count what they are asked.
//
// It must not import the gateway's own packages.
package fleet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// Fleet is cores on one store. Its methods fail the test.
type Fleet struct {
	tb      testing.TB
	Data    string
	Keys    map[string]string
	Vendors *vendors.Server
	Cores   []*Core
	// CoreArgs are further flags of each core that is started from now on.
	CoreArgs []string

	secret, config string
}

// Core is one core of a fleet.
type Core struct {
	*server.Process
	// Address is HOST:PORT of its gRPC side.
	Address string
}

// Edge is an edge in front of a fleet.
type Edge struct {
	*server.Process
	// URL is the base of its JSON side.
	URL string
}

// New makes a fleet without cores, on data as server.Options has it, with a key of each group.
func New(tb testing.TB, data string) *Fleet {
	tb.Helper()
	f := NewWithoutKeys(tb, data, vendors.Start(tb))
	genway, err := server.Binary("genway")
	if err != nil {
		tb.Fatal(err)
	}
	f.Made(genway)
	return f
}

// NewWithoutKeys makes a fleet whose keys Made makes, in front of vendors.
func NewWithoutKeys(tb testing.TB, data string, v *vendors.Server) *Fleet {
	tb.Helper()
	f := &Fleet{tb: tb, Data: data, Keys: map[string]string{}, Vendors: v}
	dir := tb.TempDir()
	f.secret, f.config = filepath.Join(dir, "edge.secret"), filepath.Join(dir, "genway.yaml")
	for name, text := range map[string]string{f.secret: "a secret of edges", f.config: f.Vendors.Upstreams("upstream-key")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

// Made makes the keys of a fleet, and its store if it is empty, by the program genway of a file.
func (f *Fleet) Made(genway string) {
	f.tb.Helper()
	for _, group := range server.Groups() {
		args := append([]string{"keys", "create", "--group", group, "--name", "fleet-" + group}, server.At(f.Data)...)
		key, err := server.OutputOf("genway", genway, args...)
		if err != nil {
			f.tb.Fatal(err)
		}
		f.Keys[group] = strings.TrimSpace(key)
	}
}

// Start starts a core on HOST:PORT, where the port may be 0, on the fleet's store. The test's
// end stops it.
func (f *Fleet) Start(address string) *Core {
	f.tb.Helper()
	return f.StartBy(server.StartProcess, f.Data, address)
}

// StartBy starts a core in another way, or by another way to the store.
func (f *Fleet) StartBy(start func(name string, args ...string) (*server.Process, error), data, address string) *Core {
	f.tb.Helper()
	args := slices.Concat(server.At(data), []string{"--grpc", address, "--edge-secret-file", f.secret, "--config", f.config, "--log-format", "json"}, f.CoreArgs)
	process, err := start("genway-core", args...)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(process.Kill)
	up, err := process.Await("core is up")
	if err != nil {
		f.tb.Fatal(err)
	}
	c := &Core{Process: process, Address: up["grpc"]}
	f.Cores = append(f.Cores, c)
	return c
}

// Addresses are those of all cores that were started.
func (f *Fleet) Addresses() []string {
	var all []string
	for _, c := range f.Cores {
		all = append(all, c.Address)
	}
	return all
}

// Edge starts an edge in front of targets. The test's end stops it.
func (f *Fleet) Edge(targets ...string) *Edge {
	f.tb.Helper()
	return f.EdgeBy(server.StartProcess, "127.0.0.1:0", targets...)
}

// EdgeBy starts an edge in another way, on HOST:PORT.
func (f *Fleet) EdgeBy(start func(name string, args ...string) (*server.Process, error), address string, targets ...string) *Edge {
	f.tb.Helper()
	process, err := start("genway-edge", "--core", strings.Join(targets, ","), "--http", address, "--edge-secret-file", f.secret, "--log-format", "json")
	if err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(func() {
		if err := process.Stop(); err != nil {
			f.tb.Error(err)
		}
	})
	up, err := process.Await("edge is up")
	if err != nil {
		f.tb.Fatal(err)
	}
	return &Edge{Process: process, URL: "http://" + up["http"]}
}

// Call is the request of a number through an edge: in turn of each protocol, unary and
// streamed. The vendors do with it what do says.
func (f *Fleet) Call(do string, n int) caller.Call {
	protocol := caller.Text()[n%len(caller.Text())]
	return caller.Call{
		Protocol: protocol, Stream: n/len(caller.Text())%2 == 1,
		Model: vendors.Model(do, "cancel-own", n), Key: f.Keys[caller.Group(protocol)],
	}
}

// Client makes a client of an edge. Direct calls go to the first core.
func (f *Fleet) Client(e *Edge) *caller.Client {
	f.tb.Helper()
	c, err := caller.New(e.URL, f.Cores[0].Address)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Served are the numbers of the requests that a core has logged the end of.
func (c *Core) Served() map[int]int {
	served := map[int]int{}
	for line := range strings.SplitSeq(c.Log(), "\n") {
		if _, rest, is := strings.Cut(line, `"asked_model":"`); is && strings.Contains(line, `"msg":"call"`) {
			model, _, _ := strings.Cut(rest, `"`)
			if n := vendors.Number(model); n >= 0 {
				served[n]++
			}
		}
	}
	return served
}

// String names the core in failures.
func (c *Core) String() string { return "core " + c.Address }
