package observability

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// collected has a real OpenTelemetry collector, with the configuration of deploy/observability as it is,
// between the programs and a receiver: over gRPC and HTTP, all spans of a request and the
// metrics come through. `make collector` builds it and names it in GENWAY_COLLECTOR.
func collected(t *testing.T, _ bases) {
	program := os.Getenv("GENWAY_COLLECTOR")
	if program == "" {
		t.Skip("NOT TESTED: make collector builds an OpenTelemetry collector, and runs this with it")
	}
	config, err := filepath.Abs(filepath.Join("..", "..", "..", "deploy", "observability", "collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the file is valid, and what is not is refused", func(t *testing.T) {
		t.Setenv("BACKEND_ENDPOINT", "127.0.0.1:1")
		t.Setenv("PROMETHEUS_URL", "http://127.0.0.1:1")
		for more, valid := range map[string]bool{"service::telemetry::metrics::level: none": true, "processors::batch::send_batch_sise: 1": false, "exporters::nothing::endpoint: 127.0.0.1:0": false, "service::pipelines::traces::receivers: [jaeger]": false} {
			out, err := exec.CommandContext(t.Context(), program, "validate", "--config", "file:"+config, "--config", "yaml:"+more).CombinedOutput()
			if valid != (err == nil) {
				t.Errorf("%s: %v\n%s", more, err, out)
			}
		}
	})
	for _, two := range []bool{false, true} {
		protocol := map[bool]string{false: "grpc", true: "http/protobuf"}[two]
		t.Run(protocol, func(t *testing.T) {
			exporting(t, protocol, "always_on")
			got, at := startCollector(t, program, config)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+at[protocol])
			r := start(t, two, t.TempDir(), func(string, string) []string { return nil })
			id, _ := ask(t, r, vendors.Model(vendors.BrokenChat, "traced", 5), r.Keys["chat"], "01")
			for _, s := range got.Trace(t, callersTrace, 4) {
				if otlp.Attribute(s, "genway.request_id") != id {
					t.Errorf("a span of another request than %s: %v", id, s)
				}
			}
			got.Await(t, "metrics", func(_ []*tracepb.Span, metrics map[string]bool) bool {
				return metrics["gen_ai.client.inference.duration"] && metrics["http.server.request.duration"] && metrics["genway.own.duration"]
			})
			quiet(t, r, got)
		})
	}
}

// startCollector starts a collector in front of a receiver, and returns both, the collector by where
// it listens for each protocol.
func startCollector(t *testing.T, program, config string) (got *otlp.Receiver, at map[string]string) {
	t.Helper()
	got, endpoints := otlp.Start(t)
	t.Setenv("BACKEND_ENDPOINT", strings.TrimPrefix(endpoints["grpc"], "http://"))
	t.Setenv("PROMETHEUS_URL", endpoints["http/protobuf"])
	at = map[string]string{"grpc": server.Address(), "http/protobuf": server.Address()}
	var log bytes.Buffer
	run := exec.Command(program, "--config", "file:"+config, "--config", "yaml:receivers::otlp::protocols::grpc::endpoint: "+at["grpc"],
		"--config", "yaml:receivers::otlp::protocols::http::endpoint: "+at["http/protobuf"], "--config", "yaml:service::telemetry::metrics::level: none")
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		if err := run.Wait(); err != nil || t.Failed() {
			t.Errorf("the collector ended: %v\n%s", err, log.String())
		}
	})
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, address := range at {
		for {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close()
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("the collector does not listen: %v", err)
			}
			<-tick.C
		}
	}
	return got, at
}
