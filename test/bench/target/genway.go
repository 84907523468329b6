package target

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/genway/genway/test/bench/process"
)

// genwayConfig has the upstream in each protocol: bench-model is answered in the
// caller's own, bench-on-PROTOCOL always in that one. Prices and all kinds of limits, those of
// keys, owners and models, are on, too wide to refuse anything.
const genwayConfig = `upstreams:
  chat:            {kind: chat, base_url: "http://%[1]s/v1", api_key: sk-bench}
  responses:       {kind: responses, base_url: "http://%[1]s/v1", api_key: sk-bench}
  messages:        {kind: messages, base_url: "http://%[1]s", api_key: sk-bench}
  generatecontent: {kind: generatecontent, base_url: "http://%[1]s", api_key: sk-bench}
  images:          {kind: images, base_url: "http://%[1]s/v1", api_key: sk-bench}
routes:
  - model: bench-model
    targets: [{upstream: chat}, {upstream: responses}, {upstream: messages}, {upstream: generatecontent}, {upstream: images}]
  - {model: "sandbox-*", targets: [{upstream: sandbox}]}
  - {model: bench-on-chat, targets: [{upstream: chat, model: bench-model}]}
  - {model: bench-on-responses, targets: [{upstream: responses, model: bench-model}]}
  - {model: bench-on-messages, targets: [{upstream: messages, model: bench-model}]}
  - {model: bench-on-generatecontent, targets: [{upstream: generatecontent, model: bench-model}]}
prices: %[2]s
limits:
  keys: {requests_per_minute: 1000000000, tokens_per_minute: 1000000000, concurrent: 100000, budgets: [1000000/day, 9000000/month]}
  owners:
    - {owner: bench, requests_per_minute: 1000000000, tokens_per_minute: 1000000000, concurrent: 100000, budgets: [1000000/day, 9000000/month]}
  models:
    - {model: "bench-*", requests_per_minute: 1000000000, tokens_per_minute: 1000000000, concurrent: 100000}
`

// genwayPrices make requests count against the budgets, by little.
const genwayPrices = `prices:
  - {model: "bench-*", input: 0.0001, output: 0.0002, cache_read: 0.00001}
  - {model: "sandbox-*", input: 0.0001, output: 0.0002}
`

// genway is what both forms have: a data directory with keys, and a configuration.
type genway struct {
	site         Site
	data, config string
	keys         map[string]string
	address      string
}

func newGenway(ctx context.Context, site Site, c change) (g genway, err error) {
	g = genway{site: site, data: filepath.Join(site.Dir, "data"), config: filepath.Join(site.Dir, "genway.yaml"), keys: map[string]string{}}
	if g.address, err = FreeAddress(ctx); err != nil {
		return g, err
	}
	for _, group := range []string{"chat", "messages", "generatecontent"} {
		args := append([]string{"keys", "create", "--data", g.data, "--group", group, "--owner", "bench", "--name", "bench-" + group}, c.keys...)
		create := exec.CommandContext(ctx, g.program("genway"), args...) //nolint:gosec // Our own command, with our own arguments.
		create.Stderr = os.Stderr
		key, err := create.Output()
		if err != nil {
			return g, fmt.Errorf("%s: %w (make build writes it)", create, err)
		}
		g.keys[group] = strings.TrimSpace(string(key))
	}
	prices := filepath.Join(site.Dir, "prices.yaml")
	if err := os.WriteFile(prices, []byte(genwayPrices), 0o600); err != nil {
		return g, err
	}
	config := fmt.Sprintf(genwayConfig, site.Upstream, prices)
	if c.config != nil {
		config = c.config(config)
	}
	return g, os.WriteFile(g.config, []byte(config), 0o600)
}

func (g genway) program(name string) string { return filepath.Join(g.site.Programs, name) }

// command starts a program with everything on that is on in production, the log into a file and
// the listener of the metrics included.
func (g genway) command(program string, args ...string) process.Command {
	args = append(args, "--metrics-listen", "unix:"+filepath.Join(g.site.Dir, program+"-metrics.sock"))
	return process.Command{Path: g.program(program), Args: args, Log: filepath.Join(g.site.Dir, program+".log"), Core: g.site.Core}
}

func (g genway) plan(commands ...process.Command) *Plan {
	plan := &Plan{Address: g.address, Keys: g.keys, Commands: commands}
	for _, c := range commands {
		plan.Binaries = append(plan.Binaries, c.Path)
	}
	return plan
}

func allInOne() Target { return changed(AllInOne, "genway, one process", change{}) }

func twoProcesses() Target { return twoWith(TwoProcesses, "genway, two processes") }

// wholeBodies sends the core the whole message, as to a core that does not announce the deferral of
// bodies.
func wholeBodies() Target {
	return twoWith(WholeBodies, "genway, two processes, no deferral", "--no-defer-bodies")
}

// twoWith is the form of two processes, with more flags of the edge.
func twoWith(name, title string, more ...string) Target {
	return Target{Name: name, Title: title, Gateway: true, Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		g, err := newGenway(ctx, site, change{})
		if err != nil {
			return nil, err
		}
		core := "unix:" + filepath.Join(site.Dir, "core.sock")
		return g.plan(
			g.command("genway-core", "--data", g.data, "--config", g.config, "--grpc", core),
			g.command("genway-edge", append([]string{"--core", core, "--http", g.address, "--max-connections-per-address", "0"}, more...)...)), nil
	}}
}

// The two forms of Genway, and the second without the deferral of bodies.
const (
	AllInOne     = "genway"
	TwoProcesses = "genway-two"
	WholeBodies  = "genway-two-whole"
)
