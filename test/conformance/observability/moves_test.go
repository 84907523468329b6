package observability

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// moves has all happen that the metrics are about, and holds the scrapes to the documented table.
func moves(t *testing.T, on bases) {
	moved := map[string]bool{}
	allForms(t, on, func(t *testing.T, two bool, data string, postgres *server.Postgres) {
		movesOf(t, moved, two, data, func(r *rig) {
			if postgres == nil {
				r.locked(t, data)
			} else {
				r.storeGone(t, postgres)
			}
		})
	})
	// Tests of core/ledger and core/store bring about entries that a store refuses, and damage of it;
	// logsUnread lines that are lost.
	rare := map[string]bool{"genway_ledger_entries_set_aside_total": true, "genway_store_damaged": true, "genway_log_lines_lost_total": true}
	for _, row := range metricRows(t) {
		if !moved[row.name] && !moved[row.name+"_count"] && !rare[row.name] {
			t.Errorf("%s stays at 0", row.name)
		}
	}
}

// movesOf does so with one gateway, whose store away takes away and brings back. It adds the
// metrics that were above 0 to moved.
func movesOf(t *testing.T, moved map[string]bool, two bool, data string, away func(*rig)) {
	t.Helper()
	got := exporting(t, "grpc", "always_on")
	t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_v1.41/dup")
	redis := server.StartRedis(t)
	other, release := sparing(t)
	flags := func(dir, side string) []string {
		all := []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
		if side == "edge" || !two {
			all = append(all, "--heartbeat", "50ms")
		}
		return all
	}
	r := startWith(t, two, data, func(vendor string) setup { return special(vendor, other, redis.URL(t)) }, flags)
	r.moved = moved
	edge := "core"
	if two {
		edge = "edge"
	}
	before, _ := r.scrapeSide(t, "core")
	r.deeds(t, edge, release)
	r.figures(t, edge)
	if two {
		r.awaitValue(t, "edge", "genway_core_ready", is(1))
	}
	redis.Kill(t)
	r.call(t, "chat", vendors.Model(vendors.Answer, "drain-own", 9), false)
	r.awaitValue(t, "core", "genway_limits_degraded", is(1))
	redis.Start(t)
	r.awaitValue(t, "core", "genway_limits_degraded", is(0))
	r.reloads(t, before)
	away(r)
	all := map[string]*scrape{"core": {}, edge: {}}
	for side, of := range all {
		of.add(r.scrapeSide(t, side))
	}
	shed(t, moved, two, flags, all)
	compared(t, two, all)
	overOTLP(t, two, got)
}

// is and atLeast are what values are to satisfy.
func is(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

func atLeast(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }

// special adds to the configuration: an upstream whose breaker opens, two with other usage, a
// route whose requests are captured, and a shared store of limits.
func special(vendor, other, redis string) setup {
	return setup{
		upstreams: fmt.Sprintf("  broken: {kind: chat, base_url: %q, api_key: k, retries: -1, break_after: 1, break_for: 1h}\n  uncounted: {kind: chat, base_url: %q, api_key: k}\n  cached: {kind: messages, base_url: %q, api_key: k}\n", vendor, other, other),
		routes: "  - {model: \"*-down-*\", targets: [{upstream: broken}]}\n  - {model: \"*-uncounted-*\", targets: [{upstream: uncounted}]}\n" +
			"  - {model: \"*-cached-*\", targets: [{upstream: cached}], capture: {until: " + time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339) + "}}\n",
		limits: fmt.Sprintf("store: %q, ", redis),
	}
}

// sparing starts an upstream of chat that counts no tokens, and of messages that counts all
// classes and has left reasoning out. It halts in the middle of a large answer, for a model that says so, until release.
func sparing(t *testing.T) (url string, release func()) {
	t.Helper()
	released := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(asked), "-halted-") {
			_, _ = io.WriteString(w, strings.Repeat(" ", 256<<10))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		answer := `{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}]}`
		if strings.HasSuffix(r.URL.Path, "/messages") {
			answer = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":3,"output_tokens":9},"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"organization_binding_mismatch"}]}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(web.Close)
	return web.URL, sync.OnceFunc(func() { close(released) })
}

// deeds are requests and connections that move the metrics. release is of sparing.
func (r *rig) deeds(t *testing.T, edge string, release func()) {
	t.Helper()
	r.round(t, 1)
	r.round(t, 2)
	r.call(t, "messages", vendors.Model(vendors.Answer, "cached", 3), false)
	r.call(t, "chat", vendors.Model(vendors.Answer, "uncounted", 4), false)
	r.call(t, "chat", vendors.Model(vendors.Broken, "down", 5), false)
	if _, err := r.client.Do(within(t), caller.Call{Protocol: "grpc", Model: "m", Key: r.Keys["internal"], Broken: true}); err != nil {
		t.Error(err)
	}
	r.limited(t)
	r.loses(t)
	r.held(t, edge)
	r.halted(t, release)
	stranger(t, r)
}

// figures waits for what the deeds have moved.
func (r *rig) figures(t *testing.T, edge string) {
	t.Helper()
	for _, want := range []struct {
		side, name string
		satisfies  func(float64) bool
		labels     []string
	}{
		{"core", "genway_breaker_state", is(2), []string{"upstream=broken"}},
		{"core", "genway_attempts_total", atLeast(1), []string{"upstream=first", "kind=bad_upstream"}},
		{"core", "genway_fallbacks_total", atLeast(2), []string{"upstream=first", "kind=bad_upstream"}},
		{"core", "genway_limit_refusals_total", atLeast(1), []string{"scope=model", "metric=requests"}},
		{"core", "genway_refusals_total", atLeast(1), []string{"kind=invalid_request"}},
		{"core", "genway_limits_degraded", is(0), nil},
		{"core", "genway_budget_fill_ratio", func(v float64) bool { return v > 0 && v < 0.1 }, []string{"scope=key", "period=day"}},
		{"core", "genway_losses_total", atLeast(1), []string{"member=seed"}},
		{"core", "genway_reasoning_mismatches_total", is(1), []string{"reason=organization"}},
		{"core", "genway_estimated_usage_total", atLeast(1), []string{"source=estimated"}},
		{"core", "genway_tokens_total", atLeast(7), []string{"class=cache_write"}},
		{"core", "genway_captures_total", is(1), []string{"result=kept"}},
		{"core", "genway_own_duration_seconds_count", atLeast(10), []string{"component=core"}},
		{edge, "genway_own_duration_seconds_count", atLeast(10), []string{"component=edge"}},
		{edge, "genway_stream_events_total", atLeast(10), []string{"protocol=chat_completions"}},
		{edge, "genway_stream_heartbeats_total", atLeast(1), []string{"protocol=chat_completions"}},
		{edge, "genway_streams_cut_total", atLeast(1), []string{"side=upstream"}},
		{edge, "genway_streams_cut_total", atLeast(1), []string{"side=caller"}},
		{edge, "genway_connections_refused_total", atLeast(1), []string{"port=http", "reason=handshake"}},
		{edge, "genway_certificate_expiry_timestamp_seconds", atLeast(float64(time.Now().Unix())), []string{"group=http"}},
		{edge, "genway_ready", is(1), nil},
		{"core", "genway_ready", is(1), nil},
	} {
		r.awaitValue(t, want.side, want.name, want.satisfies, want.labels...)
	}
}

// shed adds the scrapes of a gateway that refuses all requests for an overload.
func shed(t *testing.T, moved map[string]bool, two bool, flags func(dir, side string) []string, all map[string]*scrape) {
	t.Helper()
	dir := shortDir(t)
	full := []string{"--overload-memory", "1"}
	options := server.Options{TwoProcess: two, Args: append(flags(dir, "core"), full...)}
	if two {
		options.EdgeArgs = append(flags(dir, "edge"), full...)
	}
	r := &rig{Server: server.Start(t, options), dir: dir, moved: moved}
	var err error
	if r.client, err = caller.New(r.URL(), r.GRPC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.client.Close() })
	for side, protocol := range map[string]string{"core": "grpc", "edge": "chat"} {
		if side == "edge" && !two {
			side = "core"
		}
		r.call(t, protocol, "sandbox-text", false)
		r.awaitValue(t, side, "genway_overload_refusals_total", atLeast(1), "signal=memory", "priority=interactive")
		all[side].add(r.scrapeSide(t, side))
	}
}

// compared holds the scrapes of the sides to the table of metrics, both ways.
func compared(t *testing.T, two bool, all map[string]*scrape) {
	t.Helper()
	known := map[string]bool{}
	for _, row := range metricRows(t) {
		known[row.name] = true
		if !two && betweenProcesses[row.otel] {
			continue
		}
		for side, of := range all {
			// Only the edges have ports with certificates here, and strangers at them.
			due := !two || row.of == side || row.of == "both" && (side == "edge" || row.otel != "genway.connections_refused" && row.otel != "genway.certificate_expiry_timestamp")
			of.holds(t, side, row, due)
		}
	}
	for side, of := range all {
		for name := range of.kinds {
			if !known[name] && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && name != "target_info" {
				t.Errorf("%s of the %s is not documented", name, side)
			}
		}
	}
}

// betweenProcesses are the metrics of an edge in a process of its own.
var betweenProcesses = map[string]bool{"genway.core_ready": true, "rpc.client.call.duration": true}

// overOTLP waits for all metrics of the table over OTLP, and holds what came to it: names and units.
func overOTLP(t *testing.T, two bool, got *otlp.Receiver) {
	t.Helper()
	due := map[string]string{}
	for _, row := range metricRows(t) {
		if two || !betweenProcesses[row.otel] {
			due[row.otel] = row.unit
		}
	}
	got.Await(t, "all metrics", func(_ []*tracepb.Span, metrics map[string]bool) bool {
		for name := range due {
			if !metrics[name] {
				return false
			}
		}
		return true
	})
	if units := got.Units(); !maps.Equal(units, due) {
		t.Errorf("over OTLP come metrics with the units\n%v\ndocumented are\n%v", units, due)
	}
}
