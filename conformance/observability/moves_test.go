package observability

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/conformance/caller"
	"github.com/genway/genway/conformance/rows"
	"github.com/genway/genway/conformance/server"
	"github.com/genway/genway/conformance/vendors"
)

// special is an upstream of chat that counts no tokens, and of messages that counts all classes.
func special(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}]}`
		if strings.HasSuffix(r.URL.Path, "/messages") {
			answer = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":3,"output_tokens":9}}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// moves has all happen that the metrics are about, and looks at the scrapes.
func moves(t *testing.T) {
	t.Run("one process on SQLite", func(t *testing.T) {
		data := t.TempDir()
		movesOf(t, false, data, func(r *rig) { r.locked(t, data) })
	})
	t.Run("two processes on PostgreSQL", func(t *testing.T) {
		postgres := server.StartPostgres(t)
		movesOf(t, true, postgres.Database(t), func(r *rig) { r.storeGone(t, postgres) })
	})
}

// movesOf does so with a gateway; away has its store go away and come back.
func movesOf(t *testing.T, two bool, data string, away func(*rig)) {
	t.Helper()
	exporting(t, "grpc", "always_on")
	t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_v1.41/dup")
	other, redis := special(t), server.StartRedis(t)
	flags := func(dir, side string) []string {
		all := []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
		if side == "edge" || !two {
			all = append(all, "--heartbeat", "50ms")
		}
		return all
	}
	r := startWith(t, two, data, func(vendor string) setup {
		return setup{
			upstreams: fmt.Sprintf("  broken: {kind: chat, base_url: %q, api_key: k, retries: -1, break_after: 1, break_for: 1h}\n  uncounted: {kind: chat, base_url: %q, api_key: k}\n  cached: {kind: messages, base_url: %q, api_key: k}\n", vendor, other, other),
			routes:    "  - {model: \"*-down-*\", targets: [{upstream: broken}]}\n  - {model: \"*-uncounted-*\", targets: [{upstream: uncounted}]}\n  - {model: \"*-cached-*\", targets: [{upstream: cached}]}\n",
			limits:    fmt.Sprintf("store: %q, ", redis.URL(t)),
		}
	}, flags)
	edge := "core"
	if two {
		edge = "edge"
	}
	above := func(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }
	is := func(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

	before, _ := r.scrapeSide(t, "core")
	r.round(t, 1)
	r.round(t, 2)
	r.call(t, "messages", vendors.Model(vendors.Answer, "cached", 3), false)
	r.call(t, "chat", vendors.Model(vendors.Answer, "uncounted", 4), false)
	r.call(t, "chat", vendors.Model(vendors.Broken, "down", 5), false)
	if _, err := r.client.Do(t.Context(), caller.Call{Protocol: "grpc", Model: "m", Key: r.Keys["internal"], Broken: true}); err != nil {
		t.Error(err)
	}
	r.loses(t)
	r.held(t, edge)
	stranger(t, r)

	r.awaitValue(t, "core", "genway_breaker_state", is(2), "upstream=broken")
	r.awaitValue(t, "core", "genway_attempts_total", above(1), "upstream=first", "kind=bad_upstream")
	r.awaitValue(t, "core", "genway_fallbacks_total", above(2), "upstream=first", "kind=bad_upstream")
	r.awaitValue(t, "core", "genway_limit_refusals_total", above(1), "scope=model", "metric=requests")
	r.awaitValue(t, "core", "genway_refusals_total", above(1), "kind=invalid_request")
	r.awaitValue(t, "core", "genway_limits_degraded", is(0))
	r.awaitValue(t, "core", "genway_budget_fill_ratio", func(v float64) bool { return v > 0 && v < 0.1 }, "scope=key", "period=day")
	r.awaitValue(t, "core", "genway_losses_total", above(1), "member=seed")
	r.awaitValue(t, "core", "genway_estimated_usage_total", above(1), "source=estimated")
	r.awaitValue(t, "core", "genway_tokens_total", above(7), "class=cache_write")
	r.awaitValue(t, "core", "genway_own_duration_seconds_count", above(10), "component=core")
	r.awaitValue(t, edge, "genway_own_duration_seconds_count", above(10), "component=edge")
	r.awaitValue(t, edge, "genway_stream_events_total", above(10), "protocol=chat_completions")
	r.awaitValue(t, edge, "genway_stream_heartbeats_total", above(1), "protocol=chat_completions")
	r.awaitValue(t, edge, "genway_streams_cut_total", above(1), "side=upstream")
	r.awaitValue(t, edge, "genway_streams_cut_total", above(1), "side=caller")
	r.awaitValue(t, edge, "genway_connections_refused_total", above(1), "port=http", "reason=no-tls")
	r.awaitValue(t, edge, "genway_certificate_expiry_timestamp_seconds", above(float64(time.Now().Unix())), "group=http")
	r.awaitValue(t, edge, "genway_ready", is(1))
	r.awaitValue(t, "core", "genway_ready", is(1))
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

	all := map[string][]sample{}
	kinds := map[string]string{}
	for _, side := range []string{"core", edge} {
		got, of := r.scrapeSide(t, side)
		all[side] = got
		for name, kind := range of {
			kinds[name] = kind
		}
	}
	for side, got := range shed(t, two, flags) {
		all[side] = append(all[side], got...)
	}
	compared(t, two, all, kinds)
}

// loses makes a request with a member that its upstream's protocol does not have.
func (r *rig) loses(t *testing.T) {
	t.Helper()
	text := fmt.Sprintf(`{"model":%q,"seed":7,"messages":[{"role":"user","content":"hi"}]}`, vendors.Model(vendors.Answer, "drain-messages", 6))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a request with a seed gets %d", resp.StatusCode)
	}
}

// held has a stream be silent until a heartbeat comes, and its caller leave then.
func (r *rig) held(t *testing.T, edge string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	text := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, vendors.Model(vendors.Hold, "cancel-own", 7))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), ":") {
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("no heartbeat: %v", err)
	}
	one, none := func(v float64) bool { return v == 1 }, func(v float64) bool { return v == 0 }
	r.awaitValue(t, "core", "genway_requests_active", one, "protocol=chat_completions")
	r.awaitValue(t, edge, "http_server_active_requests", one, "http_request_method=POST")
	leave()
	r.awaitValue(t, "core", "genway_requests_active", none, "protocol=chat_completions")
	r.awaitValue(t, edge, "http_server_active_requests", none, "http_request_method=POST")
}

// stranger speaks clear text where TLS is spoken.
func stranger(t *testing.T, r *rig) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(conn); err != nil || !strings.Contains(string(all), " 400 ") {
		t.Errorf("%v %s", err, all)
	}
}

// reloads changes the configuration's file for a good one and for a bad one.
func (r *rig) reloads(t *testing.T, before []sample) {
	t.Helper()
	text, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	was := hashIn(before)
	for _, change := range []struct{ result, text string }{{"ok", string(text) + "# a word more\n"}, {"bad", string(text) + "nonsense: true\n"}} {
		next := r.config + ".next"
		if err := os.WriteFile(next, []byte(change.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, r.config); err != nil {
			t.Fatal(err)
		}
		r.awaitValue(t, "core", "genway_config_reloads_total", func(v float64) bool { return v >= 1 }, "result="+change.result)
	}
	now, _ := r.scrapeSide(t, "core")
	if is := hashIn(now); is == "" || is == was {
		t.Errorf("the hash of the configuration is %q, was %q", is, was)
	}
}

func hashIn(all []sample) string {
	for _, s := range all {
		if s.name == "genway_config_info" {
			return s.labels["hash"]
		}
	}
	return ""
}

// locked has entries wait for an SQLite file that another process writes into. An operation
// fails after half a minute of that only, which is too long for a test.
func (r *rig) locked(t *testing.T, data string) {
	t.Helper()
	unlock := rows.Lock(t, filepath.Join(data, "genway.db"))
	r.call(t, "chat", vendors.Model(vendors.Answer, "drain-own", 8), false)
	r.awaitValue(t, "core", "genway_ledger_queue", func(v float64) bool { return v > 0 })
	unlock()
	r.awaitValue(t, "core", "genway_ledger_queue", func(v float64) bool { return v == 0 })
}

// storeGone has entries wait for a server that was killed, and be written when it is back.
func (r *rig) storeGone(t *testing.T, postgres *server.Postgres) {
	t.Helper()
	postgres.Kill(t)
	r.call(t, "chat", vendors.Model(vendors.Answer, "drain-own", 8), false)
	for _, c := range [][]string{{"genway_ledger_queue"}, {"genway_store_errors_total", "operation=ledger"}, {"genway_ledger_lag_seconds"}} {
		r.awaitValue(t, "core", c[0], func(v float64) bool { return v > 0 }, c[1:]...)
	}
	postgres.Start(t)
	for _, name := range []string{"genway_ledger_queue", "genway_ledger_lag_seconds"} {
		r.awaitValue(t, "core", name, func(v float64) bool { return v == 0 })
	}
}

// shed gives the scrapes of a gateway that refuses all for an overload.
func shed(t *testing.T, two bool, flags func(dir, side string) []string) map[string][]sample {
	t.Helper()
	dir, err := os.MkdirTemp("", "genway-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	full := []string{"--overload-memory", "1"}
	options := server.Options{TwoProcess: two, Args: append(flags(dir, "core"), full...)}
	if two {
		options.EdgeArgs = append(flags(dir, "edge"), full...)
	}
	r := &rig{Server: server.Start(t, options), dir: dir}
	if r.client, err = caller.New(r.URL(), r.GRPC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.client.Close() })
	scrapes := map[string][]sample{}
	for side, protocol := range map[string]string{"core": "grpc", "edge": "chat"} {
		if side == "edge" && !two {
			side = "core"
		}
		r.call(t, protocol, "sandbox-text", false)
		r.awaitValue(t, side, "genway_overload_refusals_total", func(v float64) bool { return v >= 1 }, "signal=memory", "priority=interactive")
		scrapes[side], _ = r.scrapeSide(t, side)
	}
	return scrapes
}

// compared holds the scrapes to the table of metrics, both ways.
func compared(t *testing.T, two bool, all map[string][]sample, kinds map[string]string) {
	t.Helper()
	known := map[string]metricRow{}
	for _, row := range metricRows(t) {
		known[row.name] = row
		kind := map[string]string{"counter": "counter", "histogram": "histogram", "gauge": "gauge", "up-down counter": "gauge"}[row.kind]
		if !two && (row.name == "genway_core_ready" || row.name == "rpc_client_call_duration_seconds") {
			continue // between an edge and a core in one process there is no connection
		}
		if kinds[row.name] != kind && row.name != "genway_overload_refusals_total" {
			t.Errorf("%s is a %q in the scrape, want a %s", row.name, kinds[row.name], row.kind)
		}
		for side, samples := range all {
			seen, labels := false, map[string]bool{}
			for _, s := range samples {
				if base(s.name, kind) != row.name {
					continue
				}
				seen = true
				for label := range s.labels {
					labels[label] = true
				}
			}
			delete(labels, "le")
			due := !two || row.of == "both" || row.of == side
			if seen != due && row.name != "genway_connections_refused_total" && row.name != "genway_certificate_expiry_timestamp_seconds" {
				t.Errorf("%s is in the scrape of the %s: %v, documented for %s", row.name, side, seen, row.of)
			}
			for label := range labels {
				if !row.labels[label] {
					t.Errorf("%s has a label %s, which is not documented", row.name, label)
				}
			}
			for label := range row.labels {
				if seen && !labels[label] {
					t.Errorf("%s never has the label %s, which is documented", row.name, label)
				}
			}
		}
	}
	for name := range kinds {
		if _, documented := known[name]; !documented && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && name != "target_info" {
			t.Errorf("%s is not documented", name)
		}
	}
}

// base is the name of a sample's family.
func base(name, kind string) string {
	if kind == "histogram" {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if cut, ok := strings.CutSuffix(name, suffix); ok {
				return cut
			}
		}
	}
	return name
}
