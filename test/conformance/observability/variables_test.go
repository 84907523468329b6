package observability

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// variables has OpenTelemetry's variables do what they are for, in the real program.
func variables(t *testing.T, _ bases) {
	t.Run("one endpoint", oneEndpoint)
	t.Run("an endpoint of each signal", ownEndpoints)
	t.Run("disabled", disabled)
	t.Run("a receiver that is too slow", tooSlow)
	t.Run("a value that is not supported", notSupported)
}

// set sets variables, after those that exporting sets.
func set(t *testing.T, of map[string]string) {
	t.Helper()
	for name, value := range of {
		t.Setenv(name, value)
	}
}

// oneEndpoint sends both signals to one endpoint with a path, with headers, compressed, of a service
// with attributes; the caller's decision goes before a ratio of 0, and counters are deltas.
func oneEndpoint(t *testing.T) {
	got := exporting(t, "http/protobuf", "parentbased_traceidratio")
	set(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + "/base/", "OTEL_TRACES_SAMPLER_ARG": "0",
		"OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=a%20b,authorization=Bearer%20canary-of-a-collector", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,deployment.environment.name=a%2Cb",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
	})
	r := start(t, false, t.TempDir(), func(string, string) []string { return []string{"--trace-slow=-1s"} })
	r.call(t, "chat", vendors.Model(vendors.Answer, "untraced", 1), false) // of a trace of its own: the ratio is 0
	ask(t, r, vendors.Model(vendors.Answer, "traced", 2), r.Keys["chat"], "01")
	spans := got.Trace(t, callersTrace, 3)
	if len(spans) != 3 {
		t.Errorf("%d spans", len(spans))
	}
	for _, signal := range []string{"traces", "metrics"} {
		e := got.AwaitExport(t, signal, func(e otlp.Export) bool { return signal == "traces" || e.Delta })
		if e.Path != "/base/v1/"+signal || e.Header.Get("X-Tenant") != "a b" || e.Header.Get("Authorization") != "Bearer canary-of-a-collector" || e.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s come to %s with %v", signal, e.Path, e.Header)
		}
		if e.Resource["service.name"] != "mine" || e.Resource["deployment.environment.name"] != "a,b" || e.Resource["service.version"] == "" {
			t.Errorf("%s are of %v", signal, e.Resource)
		}
	}
	if strings.Contains(r.Core.Log(), "canary-of-a-collector") {
		t.Error("the log has the key of the collector")
	}
}

// ownEndpoints sends each signal by its own protocol to its own receiver, whatever the flag says.
func ownEndpoints(t *testing.T) {
	traces, tracesAt := otlp.Start(t)
	metrics, metricsAt := otlp.Start(t)
	nobody, nobodyAt := otlp.Start(t)
	set(t, map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": tracesAt["http/protobuf"] + "/own/v1/traces", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": metricsAt["grpc"],
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": nobodyAt["http/protobuf"],
		"OTEL_EXPORTER_OTLP_HEADERS": "x-of=both", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-of=metrics", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip",
		"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200",
	})
	r := start(t, false, t.TempDir(), func(string, string) []string { return []string{"--otlp-endpoint", nobodyAt["http/protobuf"]} })
	ask(t, r, vendors.Model(vendors.Answer, "traced", 1), r.Keys["chat"], "01")
	if e := traces.AwaitExport(t, "traces", func(otlp.Export) bool { return true }); e.Path != "/own/v1/traces" || e.Header.Get("X-Of") != "both" {
		t.Errorf("traces come to %s with %v", e.Path, e.Header)
	}
	if e := metrics.AwaitExport(t, "metrics", func(otlp.Export) bool { return true }); e.Path != "" || e.Header.Get("X-Of") != "metrics" || e.Resource["service.name"] != "genway" || e.Delta {
		t.Errorf("metrics come to %q with %v of %v", e.Path, e.Header, e.Resource)
	}
	for of, r := range map[string]*otlp.Receiver{"the flag's endpoint": nobody, "metrics'": metrics, "traces'": traces} {
		for _, e := range r.Exports() {
			if of == "the flag's endpoint" || e.Signal+"'" != of {
				t.Errorf("%s come to %s", e.Signal, of)
			}
		}
	}
}

// disabled counts nothing and exports nothing.
func disabled(t *testing.T) {
	got := exporting(t, "grpc", "always_on")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	r := start(t, false, t.TempDir(), func(dir, side string) []string {
		return []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
	})
	id, _ := ask(t, r, vendors.Model(vendors.Answer, "traced", 1), r.Keys["chat"], "01")
	awaitLine(t, r.Core, "call", id)
	all, _ := r.scrapeSide(t, "core")
	for _, s := range all {
		if !strings.HasPrefix(s.name, "go_") && !strings.HasPrefix(s.name, "process_") && !strings.HasPrefix(s.name, "promhttp_") {
			t.Errorf("%s is counted", s.name)
		}
	}
	if err := r.Stop(); err != nil { // which delivers what is left
		t.Error(err)
	}
	if exports := got.Exports(); len(exports) > 0 {
		t.Errorf("%d deliveries", len(exports))
	}
}

// tooSlow has a receiver that does not answer: the time of a delivery is bounded, the log says that
// it failed, and the program ends as any other.
func tooSlow(t *testing.T) {
	exporting(t, "http/protobuf", "always_on")
	url, refuse := hanging(t)
	set(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "100", "OTEL_METRIC_EXPORT_TIMEOUT": "200", "OTEL_BSP_EXPORT_TIMEOUT": "200"})
	r := start(t, false, t.TempDir(), func(string, string) []string { return nil })
	if seen := r.call(t, "chat", vendors.Model(vendors.Answer, "untraced", 1), false); seen.Status != http.StatusOK {
		t.Errorf("a request gets %d", seen.Status)
	}
	if err := r.Core.AwaitText("telemetry cannot be delivered"); err != nil {
		t.Error(err)
	}
	refuse()
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
}

// notSupported ends the start with the name of the variable, and without a header's value.
func notSupported(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization: Bearer canary-of-a-collector")
	_, err := server.Output("genway", "serve", "--data", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_HEADERS") || strings.Contains(err.Error(), "canary") {
		t.Errorf("a start with a header that is none: %v", err)
	}
}

// hanging starts a server that takes requests and does not answer before refuse, and then with 400.
func hanging(t *testing.T) (url string, refuse func()) {
	t.Helper()
	refused := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not notice that the caller leaves
		select {
		case <-refused:
			w.WriteHeader(http.StatusBadRequest)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(web.Close)
	return web.URL, func() { close(refused) }
}
