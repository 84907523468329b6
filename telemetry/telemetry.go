package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
