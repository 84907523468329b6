package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/network"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// site is the whole installation.
type site struct {
	tb       testing.TB
	net      *network.Switch
	hosts    map[string]*network.Host
	vendors  *vendors.Server
	balancer *balancer
	edges    []*program
	cores    []*program
	store    *store
	limits   *limits
	keys     map[string]string // by group
	genway   string            // the program
	clocked  string            // the folder of the programs whose clock can be stepped

	dir    string
	secret string
	config string
}

// localShare is the share of each limit that a core admits by itself.
const localShare = 0.5

// needed says what the machine lacks, if anything.
func needed() (bin, redis, haproxy string, err error) {
	if os.Geteuid() != 0 {
		return "", "", "", errors.New("it needs root, for network namespaces")
	}
	for _, name := range []string{"ip", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", "", "", err
		}
	}
	if haproxy, err = exec.LookPath("haproxy"); err != nil {
		return "", "", "", err
	}
	if redis, err = exec.LookPath("valkey-server"); err != nil {
		if redis, err = exec.LookPath("redis-server"); err != nil {
			return "", "", "", err
		}
	}
	bin, err = storePrograms()
	return bin, redis, haproxy, err
}

// newSite starts everything. delay is the edges' and the cores' shutdown delay.
func newSite(tb testing.TB, delay string) *site {
	tb.Helper()
	bin, redis, haproxy, err := needed()
	if err != nil {
		tb.Skip("SKIPPED: nothing is known of a cluster under a storm: ", err)
	}
	dir, err := os.MkdirTemp("/tmp", "genway-cluster-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	as, err := other()
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{tb: tb, net: network.NewSwitch(tb), hosts: map[string]*network.Host{}, keys: map[string]string{}, dir: dir}
	own := s.net.Own()
	for _, name := range []string{"lb", "edge1", "edge2", "edge3", "core1", "core2", "core3", "db1", "db2", "limits1", "limits2", "limits3"} {
		s.hosts[name] = s.net.Add(name)
	}
	s.vendors = vendors.StartOn(tb, own.IP+":0")
	s.must(os.Chmod(dir, 0o755))
	s.store, err = startStore(tb, dir, bin, as, [2]*network.Host{s.hosts["db1"], s.hosts["db2"]})
	s.must(err)
	s.limits, err = startLimits(tb, dir, redis, as, [3]*network.Host{s.hosts["limits1"], s.hosts["limits2"], s.hosts["limits3"]})
	s.must(err)
	s.configure()
	s.genway, err = server.Binary("genway")
	s.must(err)
	for _, group := range []string{"chat", "messages", "generatecontent"} {
		s.keys[group] = s.key(group, "load-"+group, "--requests-per-minute", "100000000", "--concurrent", "100000", "--budget-month", "1000000")
	}
	s.clocked, err = buildClocked(dir, "genway-core", "genway-edge")
	s.must(err)
	s.startPrograms(delay)
	addresses := map[string]string{}
	for _, edge := range s.edges {
		addresses[edge.name] = edge.host.IP + ":8080"
	}
	s.balancer, err = startBalancer(tb, dir, haproxy, s.hosts["lb"], addresses)
	s.must(err)
	for _, edge := range s.edges {
		s.must(within("HAProxy does not take "+edge.name, func() bool { return s.balancer.takes(edge.name) }))
	}
	return s
}

// configure writes the configuration of cores and the secret of edges. The limits have ten times
// their usual time to answer, since all hosts share the processors of one machine.
func (s *site) configure() {
	s.secret, s.config = filepath.Join(s.dir, "edge.secret"), filepath.Join(s.dir, "genway.yaml")
	prices := filepath.Join(s.dir, "prices.yaml")
	limits := fmt.Sprintf("prices: %s\nlimits: {store: %q, timeout: 1s, when_gone: local, local_share: %v}\n", prices, s.limits.url(), localShare)
	for name, text := range map[string]string{s.secret: "a secret of edges", prices: vendors.Prices, s.config: s.vendors.Upstreams("upstream-key") + limits} {
		s.must(os.WriteFile(name, []byte(text), 0o600))
	}
}

// before returns what runs before the restarts in the place of a program: that of the folder
// GENWAY_OTHER_BIN, if there is one.
func before(path string) string {
	if other := os.Getenv("GENWAY_OTHER_BIN"); other != "" {
		return filepath.Join(other, filepath.Base(path))
	}
	return path
}

// startPrograms starts cores and edges. They are those of before until they are restarted: then a
// rolling restart is an upgrade, and the first core of this version brings the schema up to date
// beside those of before.
func (s *site) startPrograms(delay string) {
	common := []string{"--edge-secret-file", s.secret, "--shutdown-delay", delay, "--grace", "90s", "--log-format", "json"}
	var targets []string
	for i := range 3 {
		host := s.hosts[fmt.Sprintf("core%d", i+1)]
		address := host.IP + ":9090"
		targets = append(targets, address)
		data := filepath.Join(s.dir, fmt.Sprintf("core%d.data", i+1))
		s.cores = append(s.cores, s.program("genway-core", fmt.Sprintf("core%d", i+1), host, "core is up",
			slices.Concat([]string{"--data", data, "--store", s.store.url(), "--config", s.config, "--grpc", address}, common)))
	}
	for i := range 3 {
		host := s.hosts[fmt.Sprintf("edge%d", i+1)]
		s.edges = append(s.edges, s.program("genway-edge", fmt.Sprintf("edge%d", i+1), host, "edge is up",
			slices.Concat([]string{"--core", strings.Join(targets, ","), "--http", host.IP + ":8080", "--proxy-protocol", s.hosts["lb"].IP}, common)))
	}
	for _, p := range slices.Concat(s.cores, s.edges) {
		now := p.path
		p.path = before(now)
		s.must(p.start())
		p.path = now
	}
	for _, core := range s.cores {
		s.must(s.found(core, nil))
	}
}

func (s *site) program(command, name string, host *network.Host, up string, args []string) *program {
	p := &program{tb: s.tb, name: name, host: host, path: filepath.Join(s.clocked, command), args: args, up: up,
		log: filepath.Join(s.dir, name+".log"), clock: filepath.Join(s.dir, name+".clock")}
	s.must(p.step(0))
	return p
}

// key makes a key, by the program of before: one of this version would bring the schema up to date.
func (s *site) key(group, name string, flags ...string) string {
	out, err := server.OutputOf("genway", before(s.genway), slices.Concat([]string{"keys", "create", "--group", group, "--name", name, "--store", s.store.url()}, flags)...)
	s.must(err)
	return strings.TrimSpace(out)
}

// places are where the logs of the edges end.
func (s *site) places() map[*program]int64 {
	all := map[*program]int64{}
	for _, edge := range s.edges {
		all[edge] = edge.place()
	}
	return all
}

// found waits until each edge has found a core behind a place of its log.
func (s *site) found(core *program, since map[*program]int64) error {
	var errs []error
	for _, edge := range s.edges {
		// An edge that was restarted meanwhile looks for all cores again.
		errs = append(errs, within(edge.name+" does not find "+core.name, func() bool {
			text, err := edge.written(max(since[edge], edge.from))
			return err == nil && bytes.Contains(text, []byte(`"msg":"core is ready","core":"`+core.host.IP+`:9090"`))
		}))
	}
	return errors.Join(errs...)
}

// begin starts a core or an edge again, and returns once it is in use.
func (s *site) begin(p *program) error {
	since := s.places()
	if err := p.start(); err != nil {
		return err
	}
	if slices.Contains(s.edges, p) {
		return within("HAProxy does not take "+p.name, func() bool { return s.balancer.takes(p.name) })
	}
	return s.found(p, since)
}

// restart ends a program as an operator does, and starts it again.
func (s *site) restart(p *program) error {
	if err := p.stop(); err != nil {
		return err
	}
	return s.begin(p)
}

func (s *site) must(err error) {
	if err != nil {
		s.tb.Helper()
		s.tb.Fatal(err)
	}
}

// other is the user that PostgreSQL and Redis run as: PostgreSQL refuses to run as root.
func other() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uidErr, gidErr)
	}
	return nil, errors.New("there is no user postgres or nobody")
}
