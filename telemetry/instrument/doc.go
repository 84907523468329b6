// Package instrument holds the metrics of a core and of an edge: their names, units,
// labels and buckets, and what records them. Each metric is a Definition; Definitions
// lists all of them, and docs/observability.md is tested against that list.
//
// Names follow the OpenTelemetry conventions where there is one:
//
//   - GenAI: repository open-telemetry/semantic-conventions-genai,
//     docs/gen-ai/client-inference.md and gen-ai-token-metrics.md, as read on 2026-11-22
//     (status: development). The names of semantic-conventions v1.41.0 are available by
//     OTEL_SEMCONV_STABILITY_OPT_IN, see Names.
//   - HTTP and RPC: semantic-conventions v1.43.0, docs/http/http-metrics.md (stable) and
//     docs/rpc/rpc-metrics.md.
//
// All other metrics are genway.*. No label holds what a caller can choose: labels are
// routes, upstreams and models of the configuration, and closed lists of words.
//
// Counters and histograms are recorded to a Registry, which package telemetry gives to the
// readers of the SDK; gauges are the SDK's. It must not import an SDK, an exporter, or any
// package of core or gateway, so that both can import it.
package instrument
