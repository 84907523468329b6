package telemetry_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/tracing"
)

func environment(of map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := of[name]
		return v, ok
	}
}

// OpenTelemetry's variables say what is exported, how and how much of it.
func TestEnvironment(t *testing.T) {
	const both = "http://127.0.0.1:4317"
	for name, c := range map[string]struct {
		endpoint        string
		env             map[string]string
		traces, metrics telemetry.Protocol
		sampler         tracing.Sampler
		disabled        bool
	}{
		"nothing":              {sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"a flag":               {endpoint: both, traces: telemetry.HTTP, metrics: telemetry.HTTP, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"an endpoint":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": both, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, traces: telemetry.GRPC, metrics: telemetry.GRPC, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"of traces alone":      {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": both, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, traces: telemetry.GRPC, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"no metrics":           {endpoint: both, env: map[string]string{"OTEL_METRICS_EXPORTER": "none"}, traces: telemetry.HTTP, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"scraped metrics":      {endpoint: both, env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, traces: telemetry.HTTP, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"exporters by default": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, traces: telemetry.HTTP, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"a ratio":              {env: map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}, sampler: tracing.Sampler{Parent: true, Ratio: 0.25}},
		"never":                {env: map[string]string{"OTEL_TRACES_SAMPLER": "always_off", "OTEL_TRACES_SAMPLER_ARG": "nonsense"}, sampler: tracing.Sampler{}},
		"disabled":             {env: map[string]string{"OTEL_SDK_DISABLED": "TRUE"}, disabled: true, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
		"propagators":          {env: map[string]string{"OTEL_PROPAGATORS": "tracecontext, baggage"}, sampler: tracing.Sampler{Parent: true, Ratio: 1}},
	} {
		got, err := telemetry.FromEnvironment(c.endpoint, environment(c.env))
		if err != nil || got.Traces != c.traces || got.Metrics != c.metrics || got.Sampler != c.sampler || got.Disabled != c.disabled {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for variable, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_METRICS_EXPORTER": "console", "OTEL_PROPAGATORS": "b3", "OTEL_TRACES_SAMPLER": "jaeger_remote",
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram",
	} {
		if _, err := telemetry.FromEnvironment("", environment(map[string]string{variable: value})); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
	for _, ratio := range []string{"-1", "1.1", "NaN", "Inf", "9007199254740993", "x"} {
		if _, err := telemetry.FromEnvironment("", environment(map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": ratio})); err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_SAMPLER_ARG") {
			t.Errorf("a ratio of %s: %v", ratio, err)
		}
	}
	if _, err := telemetry.FromEnvironment("", environment(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": both, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("http/json: %v", err)
	}
}

// A wrong endpoint stops the start; one that is away does not.
func TestEndpoints(t *testing.T) {
	for _, endpoint := range []string{"127.0.0.1:4317", "ftp://a", "http://", "http://user:secret@a", "http://a?b=c", "://", "http://a#b"} {
		config := telemetry.Config{Service: "test", TracesEndpoint: endpoint, Traces: telemetry.GRPC}
		if provider, err := telemetry.Start(t.Context(), config, discard); err == nil {
			provider.Close()
			t.Errorf("%q is taken", endpoint)
		}
	}
	for _, protocol := range []telemetry.Protocol{telemetry.GRPC, telemetry.HTTP} {
		t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100") // of the last metrics, which nobody takes
		provider, err := telemetry.Start(t.Context(), telemetry.Config{Service: "test", TracesEndpoint: "http://127.0.0.1:1", MetricsEndpoint: "http://127.0.0.1:1", Traces: protocol, Metrics: protocol}, discard)
		if err != nil {
			t.Fatal(err)
		}
		provider.Close() // which says that they could not be delivered
	}
}
