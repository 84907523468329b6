package target

import (
	"context"
	"path/filepath"
)

// The targets that differ in their telemetry.
const (
	TelemetryOff       = "genway-silent"
	TelemetryLogs      = "genway-logs"
	TelemetryMetrics   = "genway-metrics"
	TelemetryUnsampled = "genway-unsampled"
	TelemetrySampled   = "genway-sampled"
)

// Telemetry are Genway as one process with telemetry off, with logs, with logs and metrics,
// with these and tracing that samples no request, and with these and all requests traced. Spans
// are exported to the upstream, which answers them as it answers any request.
func Telemetry() []Target {
	return []Target{
		observed(TelemetryOff, "off", func(Site) []string { return []string{"OTEL_SDK_DISABLED=true", "GENWAY_LOG_LEVEL=error"} }),
		observed(TelemetryLogs, "logs", func(Site) []string { return []string{"OTEL_SDK_DISABLED=true"} }),
		observed(TelemetryMetrics, "logs and metrics", func(Site) []string { return nil }),
		observed(TelemetryUnsampled, "logs, metrics, unsampled traces", func(s Site) []string { return exporting(s, "always_off") }),
		observed(TelemetrySampled, "logs, metrics, all requests traced", func(s Site) []string { return exporting(s, "always_on") }),
	}
}

func exporting(s Site, sampler string) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.Upstream, "OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_SAMPLER=" + sampler, "OTEL_BSP_MAX_QUEUE_SIZE=65536"}
}

func observed(name, title string, env func(Site) []string) Target {
	return Target{Name: name, Title: title, Gateway: true, Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		g, err := newGenway(ctx, site)
		if err != nil {
			return nil, err
		}
		command := g.command("genway", "serve", "--data", g.data, "--config", g.config, "--http", g.address, "--grpc", "unix:"+filepath.Join(site.Dir, "grpc.sock"), "--max-connections-per-address", "0")
		command.Env = env(site)
		return g.plan(command), nil
	}}
}
