package observability

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// fourClicks goes the way of docs/observability.md, from one to the next by what each shows alone.
func fourClicks(t *testing.T, on bases) {
	program(t, "prometheus")
	forms(t, on, func(t *testing.T, two bool, data string) {
		got := exporting(t, "grpc", "always_on")
		r := start(t, two, data, func(dir, side string) []string {
			return []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
		})
		at := startPrometheus(t, r.dir, scraped(t, r.dir), []string{"core"})
		ask(t, r, vendors.Model(vendors.BrokenChat, "traced", 5), r.Keys["chat"], "01")

		// The first click: the panel's examples have traces.
		panel := dashboards(t)["Genway: overview: Time to first token B"]
		if !strings.Contains(panel, "0.95") {
			t.Fatalf("the panel asks for %q", panel)
		}
		trace := awaitExample(t, at, strings.ReplaceAll(panel, "$__rate_interval", "2m"))
		if trace != callersTrace {
			t.Errorf("the example is of the trace %s", trace)
		}
		// The second: its longest attempt says where the time went, and the core's span why there are two.
		var core, served *tracepb.Span
		for _, s := range got.Trace(t, trace, 4) {
			if otlp.Event(s, "genway.fallback") != nil {
				core = s
			}
			if otlp.Event(s, "genway.first_token") != nil {
				served = s
			}
		}
		if core == nil || served == nil {
			t.Fatalf("of the trace, the core's span is %v, and the attempt's %v", core, served)
		}
		if otlp.Attribute(served, "genway.upstream") != "second" || otlp.Event(served, "genway.hold_back_released") == nil {
			t.Errorf("the attempt does not say where the time went: %v", served)
		}
		// The third: the identifier; and the fourth: its lines.
		id := otlp.Attribute(core, "genway.request_id")
		call, request := awaitLine(t, r.Core, "call", id), awaitLine(t, r.Edge, "request", id)
		if call["fallback_reason"] == nil || call["output_tokens"] == nil || call["cost_dollars"] == nil || call["upstream"] != "second" || request["status"] != 200.0 {
			t.Errorf("the lines do not tell:\n%v\n%v", call, request)
		}
	})
}

// awaitExample waits for an example of a query's series, and returns its trace.
func awaitExample(t *testing.T, at, expr string) string {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/v1/query_exemplars?start=0&end=99999999999&query="+url.QueryEscape(expr), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil { // it may still be starting
			var answer struct {
				Data []struct {
					Exemplars []struct{ Labels map[string]string }
				}
			}
			err := json.NewDecoder(resp.Body).Decode(&answer)
			_ = resp.Body.Close()
			for _, series := range answer.Data {
				for _, example := range series.Exemplars {
					if trace := example.Labels["trace_id"]; err == nil && trace != "" {
						return trace
					}
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no example of %s", expr)
		}
	}
}
