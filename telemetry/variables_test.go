package telemetry_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/telemetry"
)

// A value that the SDK would ignore is refused, by the name of its variable, and no part of a
// header is repeated.
func TestUnsupportedValues(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	endpoints := []string{"127.0.0.1:4317", "localhost:4317", "ftp://a", "http://", "://", "http://user:secret@a", "http://a?b=c", "http://a#b", "nonsense"}
	headers := []string{"authorization: Bearer secret", "secret", "=secret", "a=1,,b=secret", "a b=secret", "authorization=secret%zz", "authorization=secret%0d%0ax:1", "é=secret"}
	numbers := []string{"-1", "x", "1.5", "9007199254740993", "9223372036854775807", "9223372036854775808", "NaN", "10s", "0x10"}
	files := []string{"/nonexistent.pem", empty, t.TempDir()}
	bad := map[string][]string{
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": {"sometimes"},
		"OTEL_METRICS_EXEMPLAR_FILTER":                      {"always_on", "always_off", "x"},
		"OTEL_RESOURCE_ATTRIBUTES":                          {"nonsense", "a=1,b", "=1", "a=%zz", ","},
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		of := "OTEL_EXPORTER_OTLP_" + signal
		bad[of+"ENDPOINT"], bad[of+"HEADERS"], bad[of+"TIMEOUT"] = endpoints, headers, numbers
		bad[of+"COMPRESSION"] = []string{"brotli", "GZIP"}
		bad[of+"CERTIFICATE"], bad[of+"CLIENT_CERTIFICATE"], bad[of+"CLIENT_KEY"] = files, files, files
	}
	for _, positive := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		bad[positive] = append([]string{"0"}, numbers...)
	}
	for _, limit := range []string{"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"} {
		bad[limit] = append([]string{"-2"}, numbers[1:]...)
	}
	for variable, values := range bad {
		for _, value := range values {
			_, err := telemetry.FromEnvironment("", environment(map[string]string{variable: value}))
			if err == nil || !strings.Contains(err.Error(), variable+": ") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s=%s: %v", variable, value, err)
			}
		}
	}
	for _, endpoint := range endpoints {
		if _, err := telemetry.FromEnvironment(endpoint, environment(nil)); err == nil || !strings.Contains(err.Error(), "--otlp-endpoint: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("--otlp-endpoint %s: %v", endpoint, err)
		}
	}
	good := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example:4318/base", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20secret, x-tenant=", "OTEL_EXPORTER_OTLP_TIMEOUT": "0",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "Delta", "OTEL_METRIC_EXPORT_INTERVAL": "86400000", "OTEL_BSP_MAX_QUEUE_SIZE": "1",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=a%20b,service.namespace=", "OTEL_BSP_SCHEDULE_DELAY": " 5 ",
		"OTEL_METRICS_EXEMPLAR_FILTER": "trace_based", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "-1", "OTEL_ATTRIBUTE_COUNT_LIMIT": "0",
	}
	if _, err := telemetry.FromEnvironment("", environment(good)); err != nil {
		t.Error(err)
	}
}

// The endpoint of one signal goes before the flag, and the flag before the endpoint of both.
func TestEndpointOfOneSignal(t *testing.T) {
	got, err := telemetry.FromEnvironment("http://flag", environment(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://both", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces/path"}))
	if err != nil || got.TracesEndpoint != "" || got.MetricsEndpoint != "http://flag" {
		t.Errorf("%+v %v", got, err)
	}
}

// What the SDK itself has to say goes to the log.
func TestSDKSaysItInTheLog(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "nonsense") // which FromEnvironment would refuse
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	var log bytes.Buffer
	provider, err := telemetry.Start(t.Context(), telemetry.Config{Service: "test", Metrics: telemetry.HTTP, MetricsEndpoint: "http://127.0.0.1:1"}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	provider.Close() // nobody takes the last metrics
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "OTEL_METRIC_EXPORT_INTERVAL") {
		t.Errorf("the log has %q", log.String())
	}
}

// An endpoint that is wrong is not repeated with its password.
func TestPasswordsOfEndpoints(t *testing.T) {
	for _, endpoint := range []string{"http://user:hunter2@host:4318", "http://user:hunter2@ho st", "http://user:hunter2%zz@host", "user:hunter2@host:4318"} {
		_, err := telemetry.FromEnvironment("", environment(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
