package observability

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// program finds one of Prometheus' programs. Where it cannot be had, the test says so.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT TESTED: %s is not installed (make test-deps installs Debian's package prometheus)", name)
	}
	return path
}

// scraped serves the metrics of unix sockets over TCP, for Prometheus: /SIDE/openmetrics as
// they are, /SIDE/text without the header that asks for OpenMetrics.
func scraped(t *testing.T, dir string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		side, form, _ := strings.Cut(strings.TrimPrefix(in.URL.Path, "/"), "/")
		accept := in.Header.Get("Accept")
		if form == "text" {
			accept = "text/plain"
		}
		kind, body, err := metricsOfSocket(in.Context(), filepath.Join(dir, side), accept)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	}))
	t.Cleanup(web.Close)
	return web.Listener.Addr().String()
}

// metricsOfSocket returns the metrics of a socket, in the form that is accepted.
func metricsOfSocket(ctx context.Context, socket, accept string) (kind string, body []byte, err error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://genway/metrics", nil)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.Header.Get("Content-Type"), body, err
}

// startPrometheus starts one that scrapes each side in both forms, and returns its address.
func startPrometheus(t *testing.T, dir, targets string, sides []string) string {
	t.Helper()
	path := program(t, "prometheus")
	var config bytes.Buffer
	rules, err := filepath.Abs(filepath.Join("..", "..", "..", "deploy", "observability", "rules", "genway.yml"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&config, "global: {scrape_interval: 2s, scrape_timeout: 2s}\nrule_files: [%q]\nscrape_configs:\n", rules)
	for _, side := range sides {
		for _, form := range []string{"openmetrics", "text"} {
			fmt.Fprintf(&config, "  - {job_name: %s-%s, metrics_path: /%s/%s, static_configs: [{targets: [%q]}]}\n", side, form, side, form, targets)
		}
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, config.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	address := server.Address()
	var log bytes.Buffer
	run := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+address, "--enable-feature=exemplar-storage", "--log.level=warn")
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		_ = run.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log.String())
		}
	})
	return "http://" + address
}

// result is one series of a query's.
type result struct {
	Metric map[string]string
	Value  [2]any
}

// query asks Prometheus.
func query(ctx context.Context, at, text string) ([]result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/v1/query?query="+url.QueryEscape(text), nil)
	if err != nil {
		return nil, err
	}
	plain := &http.Transport{DisableKeepAlives: true}
	resp, err := plain.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []result }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	return answer.Data.Result, nil
}

// dashboards returns the queries of the dashboards by their dashboard and panel.
func dashboards(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "observability", "dashboards", "*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	queries := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Title  string
			Panels []struct {
				Title, Description string
				Targets            []struct{ RefID, Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range board.Panels {
			if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: a panel %q without a title, a description or a query", file, p.Title)
			}
			for _, q := range p.Targets {
				queries[board.Title+": "+p.Title+" "+q.RefID] = q.Expr
			}
		}
	}
	return queries
}

// A real Prometheus scrapes both forms under load: it reports no problem with them, all
// names are documented, traces are examples of them, and each query of the dashboards gives
// series.
func scrapedForms(t *testing.T, on bases) {
	program(t, "prometheus")
	forms(t, on, func(t *testing.T, two bool, data string) {
		exporting(t, "grpc", "always_on")
		r := start(t, two, data, func(dir, side string) []string {
			return []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
		})
		sides := []string{"core"}
		if two {
			sides = append(sides, "edge")
		}
		at := startPrometheus(t, r.dir, scraped(t, r.dir), sides)
		jobs := 2 * len(sides)
		n := 0
		for deadline := time.Now().Add(2 * time.Minute); ; n++ {
			r.round(t, n)
			up, err := query(t.Context(), at, "sum_over_time(up[2m]) >= 4")
			if err == nil && len(up) == jobs && n > 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d forms were scraped: %v", len(up), jobs, err)
			}
		}
		if down, err := query(t.Context(), at, "min_over_time(up[2m]) == 0"); err != nil || len(down) > 0 {
			t.Errorf("scrapes that failed: %v %v", down, err)
		}
		for what, expr := range dashboards(t) {
			expr = strings.ReplaceAll(expr, "$__rate_interval", "2m")
			if found, err := query(t.Context(), at, expr); err != nil || len(found) == 0 {
				t.Errorf("%s: %s: %d series, %v", what, expr, len(found), err)
			}
		}
		for _, form := range []string{"openmetrics", "text"} {
			series, err := query(t.Context(), at, `count by (__name__) ({job="core-`+form+`"})`)
			if err != nil || len(series) == 0 {
				t.Errorf("%s: %v", form, err)
			}
		}
		exemplars(t, at)
		known := documentedNames(t)
		for _, side := range sides {
			for _, accept := range []string{"text/plain", "application/openmetrics-text; version=1.0.0"} {
				kind, body, err := metricsOfSocket(t.Context(), filepath.Join(r.dir, side), accept)
				if err != nil || !strings.HasPrefix(kind, accept[:strings.IndexByte(accept+";", ';')]) {
					t.Fatalf("%s: %s %v", accept, kind, err)
				}
				check(t, kind, body)
				for _, family := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(string(body), -1) {
					name := strings.TrimSuffix(family[1], "_total")
					if !known[name] && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && name != "target" && name != "target_info" {
						t.Errorf("%s of the %s is not documented", family[1], side)
					}
				}
			}
		}
	})
}

// exemplars demands that Prometheus has examples with the trace of a request.
func exemplars(t *testing.T, at string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/v1/query_exemplars?query=genway_request_duration_seconds_bucket&start=0&end=99999999999", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !regexp.MustCompile(`"trace_id":"[0-9a-f]{32}"`).Match(text) {
		t.Errorf("no examples: %.300s %v", text, err)
	}
}

// check has promtool look at a scrape in the text form, for which it is made.
func check(t *testing.T, kind string, body []byte) {
	t.Helper()
	if !strings.HasPrefix(kind, "text/plain") {
		return
	}
	run := exec.CommandContext(t.Context(), program(t, "promtool"), "check", "metrics")
	run.Stdin = bytes.NewReader(body)
	if out, err := run.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// documentedNames are the metrics of docs/reference/telemetry.md, as Prometheus has them but for
// _total.
func documentedNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(section(t, document(t), "Metrics")) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 {
			continue
		}
		names[promName(cells[1], cells[3])] = true
	}
	return names
}

// promName is Prometheus' name of a metric, but for _total.
func promName(name, unit string) string {
	name = strings.ReplaceAll(strings.Trim(name, " `"), ".", "_")
	if suffix := map[string]string{"s": "_seconds", "By": "_bytes", "1": "_ratio"}[strings.TrimSpace(unit)]; !strings.HasSuffix(name, suffix) {
		name += suffix
	}
	return name
}

// The rules are valid, and do what they are for.
func rules(t *testing.T, _ bases) {
	promtool, dir := program(t, "promtool"), filepath.Join("..", "..", "..", "deploy", "observability", "rules")
	for _, args := range [][]string{{"check", "rules", filepath.Join(dir, "genway.yml")}, {"test", "rules", filepath.Join(dir, "tests", "genway.yml")}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "genway.yml"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(dir, "tests", "genway.yml"))
	if err != nil {
		t.Fatal(err)
	}
	page := document(t)
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(alerts) == 0 {
		t.Error("no alerts")
	}
	for _, alert := range alerts {
		if !strings.Contains(page, "`"+alert[1]+"`") {
			t.Errorf("%s is not documented", alert[1])
		}
		if !strings.Contains(string(tests), "alertname: "+alert[1]+"\n") {
			t.Errorf("%s is not tested", alert[1])
		}
	}
	// Metrics of the rules are documented ones.
	known := documentedNames(t)
	for _, found := range regexp.MustCompile(`(?:^|[^:\w])((?:genway|gen_ai|http|rpc)_\w+)`).FindAllStringSubmatch(string(text), -1) {
		name := found[1]
		base := regexp.MustCompile(`_(total|count|sum|bucket)$`).ReplaceAllString(name, "")
		if !known[base] && name != "http_response_status_code" && name != "gen_ai_request_model" {
			t.Errorf("the rules have %s, which is not documented", name)
		}
	}
}
