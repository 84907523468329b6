package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/telemetry/instrument"
)

// telemetrySettings are the settings of telemetry whose cost is measured.
var telemetrySettings = map[string]struct {
	env map[string]string
	log slog.Level
}{
	"nothing":          {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none", "OTEL_TRACES_SAMPLER": "always_off"}, slog.LevelError},
	"logs":             {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none", "OTEL_TRACES_SAMPLER": "always_off"}, slog.LevelInfo},
	"metrics-and-logs": {map[string]string{"OTEL_SDK_DISABLED": "false", "OTEL_TRACES_EXPORTER": "none", "OTEL_TRACES_SAMPLER": "always_off"}, slog.LevelInfo},
	"unsampled":        {map[string]string{"OTEL_SDK_DISABLED": "false", "OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "always_off"}, slog.LevelInfo},
	"sampled":          {map[string]string{"OTEL_SDK_DISABLED": "false", "OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "always_on"}, slog.LevelInfo},
}

// BenchmarkTelemetry sends requests through a gateway of one process with five settings of
// telemetry: off; logs; also metrics; also traces, none sampled; also traces, all sampled. Spans
// are made and queued. None is exported during the benchmark, because the number of batches
// depends on time.
func BenchmarkTelemetry(b *testing.B) {
	for _, setting := range []string{"nothing", "logs", "metrics-and-logs", "unsampled", "sampled"} {
		b.Run(setting, func(b *testing.B) {
			for _, name := range []string{"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
				b.Setenv(name, "1000000")
			}
			b.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100") // ms; the spans that are queued at the end have no receiver
			g := observed(b, setting)
			for _, c := range carried {
				if c.name != "chat-1KB" && c.name != "chat-stream-200" {
					continue
				}
				b.Run(c.name, func(b *testing.B) {
					g.upstream.answer = []byte(c.answer)
					carry(b, g.address, g.request(c.path, c.body))
				})
			}
			g.end()
		})
	}
}

// underTelemetry is a gateway of one process before an upstream.
type underTelemetry struct {
	upstream *canned
	address  string
	key      string
	end      func()
}

// request is a request of the gateway's key, as it is sent.
func (g underTelemetry) request(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: genway\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, g.key, len(body), body)
}

// observed starts a gateway with a setting of telemetry, which the environment has at its start.
func observed(b *testing.B, setting string) underTelemetry {
	b.Helper()
	for name, value := range telemetrySettings[setting].env {
		b.Setenv(name, value)
	}
	log, written := cli.Log{Format: "json", Level: telemetrySettings[setting].log}.LoggerTo(io.Discard)
	ctx, stop := context.WithCancel(b.Context())
	up := startCanned(ctx, b)
	config := filepath.Join(b.TempDir(), "genway.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "upstreams: {chat: {kind: chat, base_url: \"http://%s/v1\"}}\nroutes: [{model: own, targets: [{upstream: chat}]}]\n", up.address), 0o600); err != nil {
		b.Fatal(err)
	}
	core, err := coreproc.CoreFlags{Data: coreproc.Data{Dir: b.TempDir(), Config: config}}.Open(ctx, log)
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := core.Keys.Create(ctx, keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		b.Fatal(err)
	}
	metrics := instrument.NewEdge(core.Telemetry().Registry)
	edge, err := gateway.New(gateway.Config{Core: core.Channel(), Logger: log, Metrics: metrics, Tracer: core.Telemetry().Tracer})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(edge)
	return underTelemetry{upstream: up, address: server.Listener.Addr().String(), key: key, end: func() {
		server.Close()
		stop()
		_ = core.Close() // fails if spans are queued that have no receiver
		<-up.done
		written()
	}}
}
