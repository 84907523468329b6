package metrics_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Counts are told in Prometheus' text format, over HTTP.
func TestServe(t *testing.T) {
	m := metrics.New()
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			m.Settled("messages", ledger.Result{Outcome: ledger.OK, Upstream: "a\"b", Attempts: 2, Cost: 15_000_000,
				Usage: ledger.Usage{Input: 7, Output: 3, CacheRead: 5}})
		})
	}
	group.Wait()
	m.Settled("grpc", ledger.Result{Outcome: ledger.Failed, Kind: "timeout"})
	m.Settled("grpc", ledger.Result{Outcome: ledger.OK, UsageSource: ledger.Rejected})
	m.SetAside()
	m.Refused("key", "budget")
	m.Gone(true)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Serve(ctx, listener) }()
	get := func(path string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	resp, text := get("/metrics")
	for _, line := range []string{
		"# TYPE genway_requests_total counter\n",
		`genway_requests_total{protocol="messages",outcome="ok",kind=""} 100` + "\n",
		`genway_requests_total{protocol="grpc",outcome="failed",kind="timeout"} 1` + "\n",
		`genway_tokens_total{class="input"} 700` + "\n",
		`genway_tokens_total{class="cache_read"} 500` + "\n",
		`genway_limit_refusals_total{scope="key",metric="budget"} 1` + "\n",
		`genway_upstream_calls_total{upstream="a\"b"} 200` + "\n",
		"genway_cost_dollars_total 1.5\n",
		`genway_estimated_usage_total{source="rejected"} 1` + "\n",
		"genway_ledger_entries_set_aside_total 1\n",
		"genway_limits_degraded 1\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	format := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="([^"\\\n]|\\.)*"(,[a-z]+="([^"\\\n]|\\.)*")*\})? [0-9.e+]+)$`)
	for line := range strings.Lines(text) {
		if !format.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("no line of the format: %s", line)
		}
	}
	if got := resp.Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(got)
	}
	if resp, _ := get("/"); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Without metrics nothing is counted.
func TestNone(*testing.T) {
	var m *metrics.Metrics
	m.Settled("grpc", ledger.Result{})
	m.Refused("key", "requests")
	m.Gone(true)
}
