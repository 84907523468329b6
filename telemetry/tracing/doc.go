// Package tracing makes the spans of requests. A request keeps what its spans are made of
// (identifiers, times, a few words) and makes the spans when it is over, if they are to be
// exported: that was the decision at the beginning, or the request failed, was refused or
// was slow. A request whose spans are not exported costs only its identifiers, and nothing
// is kept of requests that are over: what waits for the exporter is bounded by its queue.
//
// Contexts travel as W3C Trace Context and Baggage demand (traceparent, tracestate,
// baggage). The package uses only the tracing API; package telemetry gives it an SDK. It
// must not import an SDK or any package of core or gateway.
package tracing
