// Package telemetry sets up the telemetry of a program: metrics for Prometheus and
// over OTLP, spans over OTLP, health, and pages for debugging. It is the one place that
// knows the OpenTelemetry SDK and its exporters; package instrument has the metrics,
// package tracing the spans.
//
// It must not import any package of core or gateway: the edge's binary has it as well.
package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation.
const scope = "github.com/genway/genway"

// Telemetry is the metrics, spans and logs of a program.
type Telemetry struct {
	// Registry holds the counters and histograms; nil while telemetry is disabled.
	Registry *instrument.Registry
	// Meter makes the gauges of a State.
	Meter metric.Meter
	// Names is the set of GenAI names that a core records.
	Names instrument.Names
	// Tracer makes spans; nil while none are exported.
	Tracer *tracing.Tracer

	log      *slog.Logger
	registry *prometheus.Registry
	close    []func(context.Context) error
}

// Start sets the exporters up. The log gets what the SDK cannot deliver. Nothing is
// connected to yet, so that a collector that is away keeps no program from starting.
func Start(ctx context.Context, config Config, log *slog.Logger) (*Telemetry, error) {
	t := &Telemetry{Meter: noop.Meter{}, Names: config.Names, log: log, registry: prometheus.NewRegistry()}
	// Those of package collectors would link database/sql.
	t.registry.MustRegister(prometheus.NewGoCollector(), prometheus.NewProcessCollector(prometheus.ProcessCollectorOpts{})) //nolint:staticcheck // see above
	if config.Disabled {
		return t, nil
	}
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(newFailures(log))
	of, err := describe(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := t.startMetrics(ctx, config, of); err != nil {
		return nil, err
	}
	if err := t.startTraces(ctx, config, of); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// describe returns the resource: the program, and what OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME say, which go before it.
func describe(ctx context.Context, config Config) (*resource.Resource, error) {
	of, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", config.Service), attribute.String("service.version", config.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return of, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, config Config, of *resource.Resource) error {
	t.Registry = instrument.NewRegistry()
	scrape, err := exporter.New(exporter.WithRegisterer(t.registry), exporter.WithProducer(newProducer(t.Registry, cumulative)), exporter.WithoutScopeInfo(), exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return fmt.Errorf("metrics for Prometheus: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(of), sdkmetric.WithReader(scrape)}
	if config.Metrics != "" {
		push, err := config.metrics(ctx)
		if err != nil {
			return fmt.Errorf("metrics over OTLP: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(push, sdkmetric.WithProducer(newProducer(t.Registry, push.Temporality)))))
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.Meter = provider.Meter(scope)
	t.close = append(t.close, provider.Shutdown)
	return nil
}

func (t *Telemetry) startTraces(ctx context.Context, config Config, of *resource.Resource) error {
	if config.Traces == "" {
		return nil
	}
	push, err := config.spans(ctx)
	if err != nil {
		return fmt.Errorf("traces over OTLP: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithSpanProcessor(newCounted(push, config.SpanQueue, instrument.NewSpans(t.Registry))), sdktrace.WithIDGenerator(decided{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	t.Tracer = tracing.New(tracing.Config{Tracer: provider.Tracer(scope), Sampler: config.Sampler, Slow: config.Slow})
	t.close = append(t.close, provider.Shutdown)
	return nil
}

// decided returns spans the identifiers that their requests had from the beginning.
type decided struct{}

func (decided) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) { return tracing.IDs(ctx) }

func (decided) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := tracing.IDs(ctx)
	return id
}

// Handler answers with the metrics in the text format of Prometheus, or in OpenMetrics, with
// examples, where that is asked for.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(t.log.Handler(), slog.LevelWarn)})
}

// closeWithin bounds the delivery of the last metrics and spans.
const closeWithin = 5 * time.Second

// Close delivers what is left, for at most 5 s. What cannot be delivered is dropped, with a warning
// in the log: a program whose collector is away ends as any other.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var ending sync.WaitGroup
	for _, end := range t.close {
		ending.Go(func() {
			if err := end(ctx); err != nil {
				t.log.Warn("the last telemetry cannot be delivered", "error", err)
			}
		})
	}
	ending.Wait()
	t.close = nil
}

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

// endpointOf checks an endpoint: http://HOST:PORT, or https. The path of a signal (v1/traces)
// is added for HTTP, as for OTEL_EXPORTER_OTLP_ENDPOINT.
func endpointOf(endpoint, signal string, protocol Protocol) (string, error) {
	if err := checkEndpoint(endpoint); err != nil {
		return "", fmt.Errorf("endpoint of OTLP: %w", err)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	if protocol == HTTP {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v1/" + signal
	}
	return u.String(), nil
}

// spans makes the exporter of spans. It connects when it first exports, and again when the
// connection is lost.
func (c Config) spans(ctx context.Context) (sdktrace.SpanExporter, error) {
	at := c.TracesEndpoint
	if at != "" {
		var err error
		if at, err = endpointOf(at, "traces", c.Traces); err != nil {
			return nil, err
		}
	}
	if c.Traces == GRPC {
		var options []otlptracegrpc.Option
		if at != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(at))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	var options []otlptracehttp.Option
	if at != "" {
		options = append(options, otlptracehttp.WithEndpointURL(at))
	}
	return otlptracehttp.New(ctx, options...)
}

// metrics makes the exporter of metrics.
func (c Config) metrics(ctx context.Context) (sdkmetric.Exporter, error) {
	at := c.MetricsEndpoint
	if at != "" {
		var err error
		if at, err = endpointOf(at, "metrics", c.Metrics); err != nil {
			return nil, err
		}
	}
	if c.Metrics == GRPC {
		var options []otlpmetricgrpc.Option
		if at != "" {
			options = append(options, otlpmetricgrpc.WithEndpointURL(at))
		}
		return otlpmetricgrpc.New(ctx, options...)
	}
	var options []otlpmetrichttp.Option
	if at != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(at))
	}
	return otlpmetrichttp.New(ctx, options...)
}

// Serve answers GET /metrics on the listener until ctx ends, and probes: GET /livez with 200,
// GET /readyz with 200, or 503 with the parts that fail. The bodies are the same as the edge's.
func (t *Telemetry) Serve(ctx context.Context, listener net.Listener, failing func() []string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { probed(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { probed(w, failing()) })
	mux.Handle("GET /metrics", t.Handler())
	return t.serve(ctx, listener, mux, 30*time.Second)
}

// probed answers a probe.
func probed(w http.ResponseWriter, failing []string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	status := "ok"
	if len(failing) > 0 {
		status = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	//nolint:errchkjson // texts can be encoded, and a probe that has disconnected needs no answer
	_ = json.NewEncoder(w).Encode(struct {
		Status  string   `json:"status"`
		Failing []string `json:"failing,omitempty"`
	}{status, failing})
}

// serve answers requests until ctx ends. It returns nil after that.
func (t *Telemetry) serve(ctx context.Context, listener net.Listener, handler http.Handler, write time.Duration) error {
	server := &http.Server{Handler: handler, ReadTimeout: 5 * time.Second, WriteTimeout: write, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(t.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	err := server.Close()
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
