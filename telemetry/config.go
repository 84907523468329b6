package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
)

// Config says what is exported. The zero value exports nothing: metrics are counted only
// for Handler.
type Config struct {
	// Service is the name of the program (service.name), Version its version.
	Service, Version string
	// Traces and Metrics export over OTLP; empty does not.
	Traces, Metrics Protocol
	// TracesEndpoint and MetricsEndpoint are where OTLP goes; empty is as the OTEL_EXPORTER_OTLP_*
	// variables say.
	TracesEndpoint, MetricsEndpoint string
	// Sampler decides at the beginning of a request whether its spans are exported.
	Sampler tracing.Sampler
	// Slow is how long a request takes at least whose spans are exported whatever the
	// sampler decided; 0 or less is none.
	Slow time.Duration
	// SpanQueue is how many spans may wait for the exporter; 0 is 2,048.
	SpanQueue int
	// Names is the set of GenAI names.
	Names instrument.Names
	// Disabled has nothing counted and nothing exported.
	Disabled bool
}

// Protocol is a form of OTLP.
type Protocol string

// The forms.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// FromEnvironment reads OpenTelemetry's variables
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
// endpoint, which may be empty, goes before OTEL_EXPORTER_OTLP_ENDPOINT, and the endpoint of one
// signal before both. Without an endpoint nothing is exported, unless OTEL_TRACES_EXPORTER or
// OTEL_METRICS_EXPORTER is otlp. Variables that the SDK reads by itself (OTEL_BSP_*,
// OTEL_METRIC_EXPORT_INTERVAL, OTEL_EXPORTER_OTLP_HEADERS and so on) are checked and left to it.
// A value that is not supported is an error.
func FromEnvironment(endpoint string, lookup func(string) (string, bool)) (Config, error) {
	get := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	c := Config{Disabled: strings.EqualFold(get("OTEL_SDK_DISABLED"), "true"), Names: instrument.NamesOf(get(instrument.OptInVariable))}
	if get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		c.TracesEndpoint = endpoint
	}
	if get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") == "" {
		c.MetricsEndpoint = endpoint
	}
	anywhere := endpoint != "" || get("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	var errs [7]error
	c.Traces, errs[0] = exporting(get, "TRACES", anywhere)
	c.Metrics, errs[1] = exporting(get, "METRICS", anywhere)
	c.Sampler, errs[2] = tracing.SamplerOf(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG"))
	for propagator := range strings.SplitSeq(get("OTEL_PROPAGATORS"), ",") {
		if p := strings.TrimSpace(propagator); !slices.Contains([]string{"", "tracecontext", "baggage"}, p) {
			errs[3] = fmt.Errorf("OTEL_PROPAGATORS: %q is not supported; contexts travel as tracecontext,baggage", p)
		}
	}
	const aggregation, buckets = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram"
	if v := get(aggregation); v != "" && v != buckets {
		errs[4] = fmt.Errorf("%s: %q is not supported; histograms have %s", aggregation, v, buckets)
	}
	if errs[5] = checked(get); errs[5] == nil {
		c.SpanQueue, _ = strconv.Atoi(get("OTEL_BSP_MAX_QUEUE_SIZE")) // checked; empty is the default
	}
	if endpoint != "" {
		if err := checkEndpoint(endpoint); err != nil {
			errs[6] = fmt.Errorf("--otlp-endpoint: %w", err)
		}
	}
	return c, errors.Join(errs[:]...)
}

// exporting says how a signal is exported; empty is not at all.
func exporting(get func(string) string, signal string, anywhere bool) (Protocol, error) {
	variable := "OTEL_" + signal + "_EXPORTER"
	own := get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	switch exporter := get(variable); exporter {
	case "":
		if !anywhere && !own {
			return "", nil
		}
	case "otlp":
	case "none":
		return "", nil
	case "prometheus":
		if signal == "METRICS" {
			return "", nil // --metrics-listen says where
		}
		fallthrough
	default:
		return "", fmt.Errorf("%s: %q is not supported; use otlp or none", variable, exporter)
	}
	protocol := get("OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = get("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", string(HTTP): // OpenTelemetry's default
		return HTTP, nil
	case string(GRPC):
		return GRPC, nil
	}
	return "", fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use grpc or http/protobuf", protocol)
}
