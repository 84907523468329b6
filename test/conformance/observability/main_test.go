// Package observability tests the telemetry of the programs against its promises:
// a real Prometheus scrapes them under load and answers the queries of the dashboards, and an
// OTLP receiver on the official types gets their spans and metrics.
package observability

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// The JSON side has a certificate, so that its expiry is reported.
func TestMain(m *testing.M) {
	if os.Getenv("GENWAY_TEST_TRANSPORT") == "" {
		if err := os.Setenv("GENWAY_TEST_TRANSPORT", "tls1"); err != nil {
			panic(err)
		}
	}
	server.Main(m, nil)
}

func TestCases(t *testing.T) {
	on := bases{sync.OnceValue(func() *server.Postgres { return server.StartPostgres(t) })}
	for _, c := range []struct {
		id, proves string
		run        func(*testing.T, bases)
	}{
		{"O10", "a stream that fell back is one trace: the caller's span, one of the edge, one of the core, one for each attempt; upstreams of one's own see its context and vendors none; no prompt, answer or key is exported", oneTree},
		{"O11", "requests that fail or are refused are exported although the caller and the sampler said no, and none that went well", failuresAreKept},
		{"O12", "a slow request is exported although the sampler said no", slowIsKept},
		{"O13", "all fields of the lines of a request are documented, and come", documentedFields},
		{"O14", "a real Prometheus scrapes text and OpenMetrics under load, with traces as examples; promtool finds nothing, and each query of the dashboards gives series", scrapedForms},
		{"O15", "the alerts fire on what they are for and on nothing else", rules},
		{"O20", "each documented metric comes from the real programs, of the side, the kind, the unit and with the labels that are documented, over OTLP too, and none else; what it is about moves it", moves},
		{"O21", "a slow request is found in four clicks: from the dashboard's panel by an example to its trace, by its attempt to the cause, by the core's span to its identifier, and with that to its lines in both logs", fourClicks},
		{"O22", "a real OpenTelemetry collector takes deploy/observability/collector.yaml and refuses it with what it does not know; spans and metrics of the programs come through it, over gRPC and HTTP", collected},
		{"O23", "OpenTelemetry's variables say where telemetry goes, how, with which headers and as which service; a value that is not supported ends the start, and does not repeat a header", variables},
		{"O24", "each documented attribute and event comes with the spans that it is documented for, and none else", documentedSpans},
		{"O25", "contexts of traces that are malformed, too large, repeated or in other letters cost no call, and upstreams see W3C's alone", strangeContexts},
		{"O26", "a log that nothing reads, whose reader has gone or whose disk is full holds up no call and ends no process, and the lines that are lost are counted", logsUnread},
		{"O16", "10,000 hostile models, paths, methods and ids make no more series than 100", hostileNames},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Attr("proves", c.proves)
			c.run(t, on)
		})
	}
}

// rig is a gateway before fake vendors.
type rig struct {
	*server.Server
	vendors *vendors.Server
	client  *caller.Client
	dir     string          // short enough for the paths of sockets
	config  string          // the file
	moved   map[string]bool // the metrics that a scrape has shown above 0
}

// patience is how long the tests wait for what must come: far longer than it takes, for a
// machine on which many other tests run.
const patience = 3 * time.Minute

const (
	upstreamKey = "canary-key-of-the-upstream"
	prompt      = "canary-words-of-a-prompt"
)

// extra are routes and upstreams beside those of the vendors: traced-N goes to chat, then to
// messages, both with the context of the trace; untraced-N only to chat.
const extra = `  first: {kind: chat, base_url: %[1]q, api_key: %[2]q, retries: -1, trace: true}
  second: {kind: messages, base_url: %[1]q, api_key: %[2]q, retries: -1, trace: true}
  vendor: {kind: chat, base_url: %[1]q, api_key: %[2]q, retries: -1}
routes:
  - {model: "*-traced-*", targets: [{upstream: first}], fallback: [{upstream: second}]}
  - {model: "*-untraced-*", targets: [{upstream: vendor}]}
`

// setup is what a test adds to the configuration: upstreams, routes before all others, and
// members of its limits.
type setup struct{ upstreams, routes, limits string }

// start starts a gateway of one process or two, with data; flags is flags of each side. Its keys
// are known to it when start returns.
func start(t *testing.T, two bool, data string, flags func(dir, side string) []string) *rig {
	t.Helper()
	return startWith(t, two, data, func(string) setup { return setup{} }, flags)
}

// startWith does so with more in the configuration, which is made for the address of the vendors.
func startWith(t *testing.T, two bool, data string, more func(vendors string) setup, flags func(dir, side string) []string) *rig {
	t.Helper()
	dir := shortDir(t)
	r := &rig{vendors: vendors.Start(t), dir: dir, moved: map[string]bool{}}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	added := more(r.vendors.URL)
	config := strings.Replace(r.vendors.Upstreams(upstreamKey), "routes:\n", fmt.Sprintf(extra, r.vendors.URL, upstreamKey), 1) +
		"prices: " + write("prices.yaml", vendors.Prices) + "\n" +
		"limits: {" + added.limits + "keys: {budgets: [1000/day, 1000/month]}, models: [{model: \"*-limited-*\", requests_per_minute: 1}]}\n"
	config = strings.Replace(config, "routes:\n", added.upstreams+"routes:\n"+added.routes, 1)
	r.config = write("genway.yaml", config)
	core := append([]string{"--config", r.config}, flags(dir, "core")...)
	options := server.Options{Data: data, TwoProcess: two, Args: core}
	if two {
		options.EdgeArgs = flags(dir, "edge")
	}
	r.Server = server.Start(t, options)
	var err error
	if r.client, err = caller.New(r.URL(), r.GRPC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.client.Close() })
	r.awaitKeys(t)
	return r
}

// shortDir is a directory whose sockets have short enough paths. The test's end removes it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "genway-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// awaitKeys waits until the gateway knows its keys: on a busy machine the first questions to its
// store may take longer than it lets callers wait, and it answers 503.
func (r *rig) awaitKeys(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for group, key := range r.Keys {
		if group == "internal" {
			continue // of direct callers
		}
		for deadline := time.Now().Add(patience); ; <-tick.C {
			status, err := r.list(t.Context(), group, key)
			if status == http.StatusOK {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the key of %s gets %d %v", group, status, err)
			}
		}
	}
}

// list asks for the models of a key within a trace of its own, which nothing samples.
func (r *rig) list(ctx context.Context, group, key string) (int, error) {
	path := map[string]string{"generatecontent": "/v1beta/models"}[group]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL()+cmp.Or(path, "/v1/models"), nil)
	if err != nil {
		return 0, err
	}
	header, value := "Authorization", "Bearer "+key
	switch group {
	case "messages":
		header, value = "X-Api-Key", key
		req.Header.Set("Anthropic-Version", "2023-06-01")
	case "generatecontent":
		header, value = "X-Goog-Api-Key", key
	}
	req.Header.Set(header, value)
	req.Header.Set("Traceparent", "00-"+startsTrace+"-"+callersSpan+"-00")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// call makes a call and returns what was seen.
func (r *rig) call(t *testing.T, protocol, model string, stream bool) caller.Seen {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	seen, err := r.client.Do(ctx, caller.Call{Protocol: protocol, Model: model, Stream: stream, Key: r.Keys[caller.Group(protocol)], Prompt: prompt})
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	return seen
}

// round causes everything that the metrics count: whole answers of all protocols, fallbacks, cut
// streams, refusals by limits, wrong keys.
func (r *rig) round(t *testing.T, n int) {
	t.Helper()
	for _, protocol := range append(caller.Text(), "grpc") {
		for _, stream := range []bool{false, true} {
			r.call(t, protocol, vendors.Model(vendors.Answer, "drain-own", n), stream)
			r.call(t, protocol, vendors.Model(vendors.BrokenChat, "traced", n), stream)
		}
	}
	r.call(t, "chat", vendors.Model(vendors.Cut, "drain-messages", n), true)
	r.call(t, "chat", vendors.Model(vendors.Broken, "drain-own-limited", n), false)
	r.call(t, "messages", "no-such-model", false)
	if _, err := r.client.Do(t.Context(), caller.Call{Protocol: "chat", Model: "m", Key: "gwk_wrong"}); err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
}
