// Package telemetry sets up the telemetry of a program: metrics for Prometheus and
// over OTLP, spans over OTLP, health, and pages for debugging. It is the one place that
// knows the OpenTelemetry SDK and its exporters; package instrument has the metrics,
// package tracing the spans.
//
// It must not import any package of core or gateway: the edge's binary has it as well.
package telemetry
