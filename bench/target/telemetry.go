package target

import (
	"context"
	"path/filepath"
)

// The forms of one process that differ in what they tell of themselves.
const (
	TellsNothing   = "genway-silent"
	TellsMetrics   = "genway-metrics"
	TellsUnsampled = "genway-unsampled"
	TellsAll       = "genway-sampled"
)

// Telemetry are Genway as one process with nothing told, with metrics and logs, with
// tracing that samples nothing beside them, and with all requests traced. Spans and metrics go
// to the upstream, which takes them for requests and so answers without reading them.
func Telemetry() []Target {
	return []Target{
		telling(TellsNothing, "nothing", func(Site) []string { return []string{"OTEL_SDK_DISABLED=true", "GENWAY_LOG_LEVEL=error"} }),
		telling(TellsMetrics, "metrics and logs", func(Site) []string { return nil }),
		telling(TellsUnsampled, "and traces, unsampled", func(s Site) []string { return exporting(s, "always_off") }),
		telling(TellsAll, "and traces of all", func(s Site) []string { return exporting(s, "always_on") }),
	}
}

func exporting(s Site, sampler string) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.Upstream, "OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_SAMPLER=" + sampler, "OTEL_BSP_MAX_QUEUE_SIZE=65536"}
}

func telling(name, title string, env func(Site) []string) Target {
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
