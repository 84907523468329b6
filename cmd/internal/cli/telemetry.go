package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/genway/genway/telemetry"
)

// Telemetry is the flags of a server's telemetry.
type Telemetry struct {
	Metrics   string        `name:"metrics-listen" env:"GENWAY_METRICS_LISTEN" placeholder:"ADDR" help:"Address of the metrics, in Prometheus' format at /metrics, and of the probes /livez and /readyz: HOST:PORT or unix:PATH. Without it there are none."`
	Debug     string        `name:"debug-listen" env:"GENWAY_DEBUG_LISTEN" placeholder:"ADDR" help:"Address of the pages for debugging (profiles, goroutines, build, requests in flight): a loopback address, as 127.0.0.1:6060, or unix:PATH. They need no key. Without it there are none."`
	OTLP      string        `name:"otlp-endpoint" env:"GENWAY_OTLP_ENDPOINT" placeholder:"URL" help:"OTLP endpoint for traces and metrics: http://HOST:PORT or https://HOST:PORT. Default: OTEL_EXPORTER_OTLP_ENDPOINT; without either, nothing is exported."`
	TraceSlow time.Duration `env:"GENWAY_TRACE_SLOW" default:"30s" placeholder:"D" help:"Export the trace of a request that takes at least this long, even if it was not sampled. Failed requests are always exported. 0 or a negative value exports none for being slow."`
}

// StartTelemetry sets up what the flags and OpenTelemetry's variables ask for. service is
// the name of the program.
func (t Telemetry) StartTelemetry(ctx context.Context, service string, log *slog.Logger) (*telemetry.Telemetry, error) {
	config, err := telemetry.FromEnvironment(t.OTLP, os.LookupEnv)
	if err != nil {
		return nil, UsageError{err}
	}
	config.Service, config.Version, config.Slow = service, Version(), t.TraceSlow
	started, err := telemetry.Start(ctx, config, log)
	if err != nil {
		return nil, UsageError{err}
	}
	return started, nil
}

// ProgramName is the name that the process was started by, for service.name.
func ProgramName() string { return filepath.Base(os.Args[0]) }

// ListenMetrics opens the listener of the metrics; nil without --metrics-listen.
func (t Telemetry) ListenMetrics(ctx context.Context) (net.Listener, error) {
	if t.Metrics == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	return Listen(ctx, "--metrics-listen", t.Metrics)
}

// ListenDebug opens the listener of the pages for debugging; nil without --debug-listen. An
// address that others can reach is refused: the pages need no key.
func (t Telemetry) ListenDebug(ctx context.Context) (net.Listener, error) {
	if t.Debug == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	if !strings.HasPrefix(t.Debug, "unix:") {
		host, _, err := net.SplitHostPort(t.Debug)
		if address := net.ParseIP(host); err == nil && host != "localhost" && (address == nil || !address.IsLoopback()) {
			return nil, UsageError{fmt.Errorf("--debug-listen %s: expected a loopback address, as in 127.0.0.1:6060, or unix:PATH, since the pages need no key", t.Debug)}
		}
	}
	return Listen(ctx, "--debug-listen", t.Debug)
}
