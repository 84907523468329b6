package telemetry_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/instrument"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the table of metrics in docs/reference/telemetry.md")

var discard = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started is telemetry without exporters.
func started(t *testing.T, config telemetry.Config) *telemetry.Telemetry {
	t.Helper()
	config.Service = "test"
	provider, err := telemetry.Start(t.Context(), config, discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	return provider
}

// scrape returns the families of /metrics.
func scrape(t *testing.T, provider *telemetry.Telemetry) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	provider.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// filled fails for a text that is empty: a label that is made of it would not be in the scrape.
func filled[T any](t *testing.T, of T) T {
	t.Helper()
	for field, value := range reflect.ValueOf(of).Fields() {
		if value.Kind() == reflect.String && value.String() == "" {
			t.Errorf("recordAll leaves %T.%s empty, so that the scrape does not show a label that is made of it", of, field.Name)
		}
	}
	return of
}

// recordAll has each metric recorded, with all its labels.
func recordAll(t *testing.T, provider *telemetry.Telemetry) {
	t.Helper()
	var ctx trace.SpanContext // of no sampled span
	c, e := instrument.NewCore(provider.Registry, provider.Names), instrument.NewEdge(provider.Registry)
	i := filled(t, instrument.Inference{Operation: "chat", Provider: "openai", Model: "m", Route: "r", Upstream: "u"})
	counts := instrument.Counts{Input: 9, InputImage: 1, InputAudio: 1, Output: 9, CacheRead: 1, CacheWrite: 1, Reasoning: 1}
	c.Begun("chat")
	c.Settled(ctx, filled(t, instrument.Settlement{Protocol: "chat", Route: "r", Upstream: "u", Outcome: "error", Kind: "bad_upstream", Source: "estimated", Calls: 2, Counts: counts, Cost: 5}))
	c.Attempted(ctx, filled(t, instrument.Attempt{Inference: i, Kind: "timeout", Counts: counts, Followed: true}))
	c.Attempted(ctx, instrument.Attempt{Inference: i, Counts: counts})
	chunks := c.Chunks(i, time.Now())
	chunks.Chunk(ctx, time.Now())
	chunks.Chunk(ctx, time.Now())
	c.Lost("seed")
	c.Mismatched("refused", 1)
	c.RefusedByLimit("key", "requests")
	c.Refused("chat", "unauthenticated")
	c.Shed("delay", "normal", 1)
	c.SetAside()
	c.StoreFailed("keys")
	c.Reloaded(true)
	c.Captured("kept")
	c.Connection("grpc", "flood")
	c.CalledHTTP(ctx, filled(t, instrument.HTTPCall{Method: "POST", Address: "a", Port: 443, Status: 500, Failure: "500", Upstream: "u"}), time.Second)
	c.ServedRPC(ctx, "genway.v1.Generation/GenerateText", "INTERNAL", time.Second)
	e.Begun("POST", "http")
	e.Ended(ctx, filled(t, instrument.HTTPRequest{Method: "POST", Scheme: "http", Route: "/v1/messages", Version: "2", Protocol: "messages", Status: 502, Kind: "bad_upstream", Events: 3, Heartbeats: 1, Cut: "upstream"}))
	s := instrument.NewSpans(provider.Registry)
	s.Dropped()
	s.Exported(1, instrument.SpansTimedOut)
	e.CalledRPC(ctx, "genway.v1.Generation/GenerateText", "INTERNAL", time.Second)
	yes := func() bool { return true }
	stop, err := instrument.State{
		Breakers: func(yield func(string, int)) { yield("u", 2) }, LedgerQueue: func() int { return 1 }, LedgerLag: func() time.Duration { return 1 },
		LimitsDegraded: yes, StoreDamaged: yes, AnswerBytes: func() int64 { return 1 }, Budgets: func(yield func(string, string, float64)) { yield("key", "day", 1) },
		Certificates: func(yield func(string, time.Time)) { yield("http", time.Unix(1, 0)) }, ConfigHash: func() string { return "h" }, CoreReady: yes, Ready: yes,
		LogLinesLost: func() int64 { return 1 },
	}.Watch(provider.Meter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
}

// prometheus is the name that Prometheus has for a metric.
func prometheus(d instrument.Definition) string {
	name := strings.ReplaceAll(d.Name, ".", "_")
	suffix := map[string]string{"s": "_seconds", "By": "_bytes", "1": "_ratio"}[d.Unit]
	if !strings.HasSuffix(name, suffix) {
		name += suffix
	}
	if d.Kind == instrument.Counter {
		name += "_total"
	}
	return name
}

// Each metric of the list is in a scrape, with its kind, its help and its labels, and the
// scrape has no other; the table in docs/reference/telemetry.md is the list.
func TestMetricsAreDocumented(t *testing.T) {
	provider := started(t, telemetry.Config{Names: instrument.Names{Newest: true, Older: true}})
	recordAll(t, provider)
	families := scrape(t, provider)
	for _, d := range instrument.Definitions() {
		family := families[prometheus(d)]
		if family == nil {
			t.Errorf("%s is not in the scrape as %s: recordAll has to record it", d.Name, prometheus(d))
			continue
		}
		delete(families, prometheus(d))
		kind := map[instrument.Kind]dto.MetricType{
			instrument.Counter: dto.MetricType_COUNTER, instrument.Gauge: dto.MetricType_GAUGE, instrument.UpDown: dto.MetricType_GAUGE, instrument.Histogram: dto.MetricType_HISTOGRAM,
		}[d.Kind]
		if family.GetType() != kind || family.GetHelp() != d.Help {
			t.Errorf("%s: %v %q", d.Name, family.GetType(), family.GetHelp())
		}
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		for _, l := range d.Labels {
			if name := strings.ReplaceAll(l, ".", "_"); !labels[name] {
				t.Errorf("%s has no label %s in the scrape", d.Name, l)
			} else {
				delete(labels, name)
			}
		}
		for l := range labels {
			t.Errorf("%s has a label %s that its Definition in telemetry/instrument does not name", d.Name, l)
		}
	}
	for name := range families {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && name != "target_info" {
			t.Errorf("the scrape has %s, which instrument.Definitions does not give", name)
		}
	}
	documented(t)
}

// documented compares the table with the list.
func documented(t *testing.T) {
	t.Helper()
	const begin, end = "<!-- metrics -->\n", "<!-- /metrics -->"
	file := filepath.Join("..", "docs", "reference", "telemetry.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	want := before + begin + table() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is stale: go test ./telemetry -run TestMetricsAreDocumented -update", file)
	}
}

func table() string {
	var out bytes.Buffer
	out.WriteString("\n| metric | kind | unit | of | labels | |\n|---|---|---|---|---|---|\n")
	list := slices.SortedStableFunc(slices.Values(instrument.Definitions()), func(a, b instrument.Definition) int { return cmp.Compare(a.Name, b.Name) })
	for _, d := range list {
		labels, help := "", d.Help
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		if d.Older {
			help += " *Older set.*"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", d.Name, d.Kind, d.Unit, d.Side, labels, help)
	}
	out.WriteString("\n")
	return out.String()
}

// A switch chooses the newest GenAI names, the older ones, or both.
func TestNames(t *testing.T) {
	for value, want := range map[string][2]bool{
		"": {true, false}, "http": {true, false}, "gen_ai_latest_experimental": {true, false},
		"gen_ai_v1.41": {false, true}, "http/dup, gen_ai_v1.41/dup": {true, true}, "gen_ai_v1.41,gen_ai_v1.41/dup": {true, true},
	} {
		config, err := telemetry.FromEnvironment("", environment(map[string]string{instrument.OptInVariable: value}))
		if err != nil {
			t.Fatal(err)
		}
		provider := started(t, config)
		recordAll(t, provider)
		families := scrape(t, provider)
		for i, name := range []string{"gen_ai_client_inference_duration_seconds", "gen_ai_client_operation_duration_seconds"} {
			if got := families[name] != nil; got != want[i] {
				t.Errorf("%q: %s is there: %v", value, name, got)
			}
		}
		if got := families["gen_ai_client_token_usage"] != nil; got != want[1] {
			t.Errorf("%q: gen_ai.client.token.usage is there: %v", value, got)
		}
	}
}

// Token histograms have operations that did not fail; the counters have all.
func TestTokensOfFailures(t *testing.T) {
	provider := started(t, telemetry.Config{Names: instrument.Names{Newest: true, Older: true}})
	c := instrument.NewCore(provider.Registry, provider.Names)
	i := instrument.Inference{Operation: "chat", Provider: "openai", Model: "m", Route: "r", Upstream: "u"}
	for _, kind := range []string{"timeout", ""} {
		c.Attempted(trace.SpanContext{}, instrument.Attempt{Inference: i, Kind: kind, Counts: instrument.Counts{Input: 7, Output: 1}})
	}
	families := scrape(t, provider)
	if got := families["gen_ai_client_inference_usage_input_tokens_total"].GetMetric()[0].GetCounter().GetValue(); got != 14 {
		t.Errorf("counted %v input tokens, want 14", got)
	}
	for _, name := range []string{"gen_ai_client_inference_operation_input_tokens", "gen_ai_client_token_usage"} {
		if got := families[name].GetMetric()[0].GetHistogram().GetSampleCount(); got != 1 {
			t.Errorf("%s has %d operations, want 1", name, got)
		}
	}
}

// With telemetry disabled nothing is counted, and nothing fails.
func TestDisabled(t *testing.T) {
	provider := started(t, telemetry.Config{Disabled: true, Traces: telemetry.GRPC, Metrics: telemetry.HTTP})
	recordAll(t, provider)
	for name := range scrape(t, provider) {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s was counted", name)
		}
	}
	if provider.Tracer != nil {
		t.Error("there is a tracer")
	}
}
