package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// engine runs the services of a project as processes of this machine, each container on a host of
// its own: a network namespace with an address on each network of the service. Names are resolved
// at 127.0.0.11, as by Docker: a service's name has the addresses of all of its containers.
type engine struct {
	t       *testing.T
	project *types.Project
	// dir has what containers write; prefix begins the names of their hosts.
	dir, prefix string
	// networks have the addresses that are left.
	networks map[string]netip.Addr
	// containers are each service's, in the order of their start.
	containers map[string][]*container
	links      int
}

// container is one of a service's replicas.
type container struct {
	service types.ServiceConfig
	// host is its network namespace, dir a folder of its own.
	host, dir string
	addresses map[string]netip.Addr
	program   program
	log       *output
	process   *exec.Cmd
	ended     chan struct{}
}

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// resolver is the resolv.conf of each container.
const resolver = "nameserver 127.0.0.11\noptions ndots:0\n"

func newEngine(t *testing.T, project *types.Project) *engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "genway-compose-") // the test's own folder is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := &engine{
		t: t, project: project, dir: dir, prefix: fmt.Sprintf("genway-%d-", os.Getpid()),
		networks: map[string]netip.Addr{}, containers: map[string][]*container{},
	}
	if err := os.Chmod(e.dir, 0o755); err != nil { //nolint:gosec // services run as users of their own
		t.Fatal(err)
	}
	e.host("switch")
	free := netip.MustParsePrefix("172.31.0.0/16")
	for name, network := range project.Networks {
		subnet := free
		if len(network.Ipam.Config) > 0 {
			subnet = netip.MustParsePrefix(network.Ipam.Config[0].Subnet)
		}
		e.networks[name] = subnet.Addr().Next()
		e.do("ip", "-n", e.prefix+"switch", "link", "add", name, "type", "bridge")
		e.do("ip", "-n", e.prefix+"switch", "link", "set", name, "up")
	}
	return e
}

// do runs a command to its end.
func (e *engine) do(name string, args ...string) string {
	e.t.Helper()
	out, err := exec.CommandContext(e.t.Context(), name, args...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// host makes a network namespace, which is removed at the end of the test.
func (e *engine) host(name string) string {
	e.t.Helper()
	name = e.prefix + name
	e.do("ip", "netns", "add", name)
	files := filepath.Join("/etc/netns", name) // ip netns exec puts them into the place of those in /etc
	e.t.Cleanup(func() { _ = errors.Join(exec.Command("ip", "netns", "del", name).Run(), os.RemoveAll(files)) })
	if err := os.MkdirAll(files, 0o755); err != nil { //nolint:gosec // services run as users of their own
		e.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "resolv.conf"), []byte(resolver), 0o644); err != nil { //nolint:gosec // likewise
		e.t.Fatal(err)
	}
	e.do("ip", "-n", name, "link", "set", "lo", "up")
	return name
}

// join gives a host an address on a network.
func (e *engine) join(host, network string) netip.Addr {
	e.t.Helper()
	e.links++
	e.networks[network] = e.networks[network].Next()
	address, outer, inner := e.networks[network], fmt.Sprintf("port%d", e.links), fmt.Sprintf("eth%d", e.links)
	e.do("ip", "-n", e.prefix+"switch", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", host)
	e.do("ip", "-n", e.prefix+"switch", "link", "set", outer, "master", network, "up")
	e.do("ip", "-n", host, "address", "add", address.String()+"/16", "dev", inner)
	e.do("ip", "-n", host, "link", "set", inner, "up")
	return address
}

// create makes the containers of a service, with their hosts.
func (e *engine) create(service types.ServiceConfig, p program) {
	e.t.Helper()
	replicas := 1
	if service.Deploy != nil && service.Deploy.Replicas != nil {
		replicas = *service.Deploy.Replicas
	}
	for i := range replicas {
		name := fmt.Sprintf("%s%d", service.Name, i+1)
		c := &container{service: service, host: e.host(name), dir: filepath.Join(e.dir, name), addresses: map[string]netip.Addr{}, program: p, log: &output{}, ended: make(chan struct{})}
		if err := os.Mkdir(c.dir, 0o755); err != nil { //nolint:gosec // as above
			e.t.Fatal(err)
		}
		for network := range service.Networks {
			c.addresses[network] = e.join(c.host, network)
		}
		e.containers[service.Name] = append(e.containers[service.Name], c)
	}
}

// names serves the names of the services at a container's 127.0.0.11: those that have a network in
// common with it.
func (e *engine) names(c *container) {
	e.t.Helper()
	args := []string{"netns", "exec", c.host, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.11", "--bind-interfaces", "--user=root", "--pid-file="}
	for name, others := range e.containers {
		for _, other := range others {
			for network, address := range other.addresses {
				if _, ok := c.addresses[network]; ok {
					args = append(args, "--host-record="+name+","+address.String())
				}
			}
		}
	}
	e.run(exec.Command("ip", args...), &output{}, make(chan struct{}))
}

// start starts a container, and waits until it is healthy if it has a health check.
func (e *engine) start(c *container) {
	e.t.Helper()
	e.names(c)
	c.process = exec.Command("ip", slices.Concat([]string{"netns", "exec", c.host}, c.program.command(e, c))...)
	c.process.Env = environment(c)
	e.run(c.process, c.log, c.ended)
	check := c.program.health(e, c)
	if len(check) == 0 {
		return
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := e.exec(c, check...)
		if err == nil {
			return
		}
		select {
		case <-c.ended:
			e.t.Fatalf("%s ended:\n%s", c.host, c.log)
		default:
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("%s is not healthy: %v %s\n%s", c.host, err, out, c.log)
		}
	}
}

// exec runs a command in a container, to its end.
func (e *engine) exec(c *container, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", slices.Concat([]string{"netns", "exec", c.host}, command)...)
	cmd.Env = environment(c)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// run starts a process that ends with the test.
func (e *engine) run(cmd *exec.Cmd, log *output, ended chan struct{}) {
	e.t.Helper()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // a service that ends is seen by its health, or by what it does not answer
		close(ended)
	}()
	e.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
}

// environment is a container's: its image's and its service's.
func environment(c *container) []string {
	all := append([]string{"PATH=" + os.Getenv("PATH")}, c.program.environment...)
	for name, value := range c.service.Environment {
		if value != nil {
			all = append(all, name+"="+*value)
		}
	}
	return all
}
