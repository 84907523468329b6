package telemetry

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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
