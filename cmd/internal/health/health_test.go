package health_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/health"
	"google.golang.org/grpc"
	ready "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const service = "genway.v1.Generation"

// An edge is ready if /readyz says so, over TLS too, wherever it listens.
func TestEdge(t *testing.T) {
	status := http.StatusOK
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"failing":["store"]}`))
	})
	for name, start := range map[string]func(http.Handler) *httptest.Server{"cleartext": httptest.NewServer, "TLS": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			server := start(handler)
			defer server.Close()
			address := server.Listener.Addr().String()
			_, port, _ := net.SplitHostPort(address)
			for _, address := range []string{address, "localhost:" + port, ":" + port, "0.0.0.0:" + port} {
				status = http.StatusOK
				if err := health.Edge(t.Context(), address, name == "TLS"); err != nil {
					t.Errorf("%s: %v", address, err)
				}
			}
			status = http.StatusServiceUnavailable
			err := health.Edge(t.Context(), address, name == "TLS")
			if !errors.Is(err, health.ErrNotReady) || !strings.Contains(err.Error(), "store") {
				t.Errorf("got %v, want the part that fails", err)
			}
		})
	}
}

// A core is ready if its health service says that it serves.
func TestCore(t *testing.T) {
	socket := t.TempDir() + "/socket"
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, state := grpc.NewServer(), ready.NewServer()
	grpc_health_v1.RegisterHealthServer(server, state)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	state.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_SERVING)
	if err := health.Core(t.Context(), "unix:"+socket, false); err != nil {
		t.Error(err)
	}
	state.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := health.Core(t.Context(), "unix:"+socket, false); !errors.Is(err, health.ErrNotReady) {
		t.Errorf("got %v, want not ready", err)
	}
}

// Without a server, the error names the address.
func TestNobodyListens(t *testing.T) {
	socket := "unix:" + t.TempDir() + "/none"
	for _, err := range []error{health.Edge(t.Context(), socket, false), health.Core(t.Context(), socket, false)} {
		if err == nil || errors.Is(err, health.ErrNotReady) || !strings.Contains(err.Error(), socket) {
			t.Errorf("got %v", err)
		}
	}
}

// The command names each part that is not ready, and says so if all are.
func TestRun(t *testing.T) {
	answers := map[string]error{"up": nil, "down": errors.New("the gRPC side on down is away")}
	check := func(_ context.Context, address string, _ bool) error { return answers[address] }
	var out strings.Builder
	if err := health.Run(t.Context(), &out, health.Target{Check: check, Address: "up"}); err != nil || out.String() != "ready\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	out.Reset()
	err := health.Run(t.Context(), &out, health.Target{Check: check, Address: "up"}, health.Target{Check: check, Address: "down"})
	if err == nil || !strings.Contains(err.Error(), "down is away") || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
