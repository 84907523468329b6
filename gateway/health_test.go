package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/internal/transport/inproc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// healthOf is a core's health service: parts that fail, or an error.
type healthOf struct {
	grpc_health_v1.UnimplementedHealthServer

	failing []string
	err     error
	asked   chan string // the services that were asked for
}

func (h *healthOf) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	h.asked <- req.GetService()
	if h.failing == nil {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, h.err
	}
	_ = grpc.SetHeader(ctx, metadata.MD{transport.FailingKey: h.failing})
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, h.err
}

// An edge is ready while its core is and its own end is not near; it is alive all the
// while. Probes need no key and get only names of parts.
func TestProbes(t *testing.T) {
	for name, c := range map[string]struct {
		core     *healthOf
		draining bool
		ready    string // empty for 200
	}{
		"all is well":            {core: &healthOf{}},
		"the core's parts":       {core: &healthOf{failing: []string{"store", "ledger"}}, ready: `{"status":"not ready","failing":["store","ledger"]}`},
		"the core ends":          {core: &healthOf{failing: []string{"shutdown"}}, ready: `{"status":"not ready","failing":["core"]}`},
		"an older core":          {core: &healthOf{failing: []string{}}, ready: `{"status":"not ready","failing":["core"]}`},
		"a core without health":  {core: &healthOf{err: status.Error(codes.Unimplemented, "unknown service")}},
		"no core":                {core: &healthOf{err: status.Error(codes.Unavailable, "dial tcp 10.0.0.7:9090: refused")}, ready: `{"status":"not ready","failing":["core"]}`},
		"the edge ends":          {core: &healthOf{}, draining: true, ready: `{"status":"not ready","failing":["shutdown"]}`},
		"the edge ends, no core": {core: &healthOf{failing: []string{"store"}}, draining: true, ready: `{"status":"not ready","failing":["shutdown"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.core.asked = make(chan string, 10)
			draining := make(chan struct{})
			if c.draining {
				close(draining)
			}
			e := serve(t, func(config *gateway.Config) {
				channel := new(inproc.Channel)
				genwayv1.RegisterGenerationServer(channel, new(core))
				grpc_health_v1.RegisterHealthServer(channel, c.core)
				config.Core, config.Draining = channel, draining
			})
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				for _, path := range []string{"/readyz", "/healthz", "/livez"} {
					want, body := http.StatusOK, `{"status":"ok"}`
					if c.ready != "" && path != "/livez" {
						want, body = http.StatusServiceUnavailable, c.ready
					}
					if method == http.MethodHead {
						body = ""
					} else {
						body += "\n"
					}
					if got := e.do(t, method, path, http.Header{}, ""); got.status != want || got.body != body {
						t.Errorf("%s %s: %d %s, want %d %s", method, path, got.status, got.body, want, body)
					}
				}
			}
			if c.draining {
				return
			}
			if service := <-c.core.asked; service != "genway.v1.Generation" {
				t.Errorf("asked for the service %q", service)
			}
			if n := len(c.core.asked); n > 1 { // a loaded machine may take longer than an answer is kept
				t.Errorf("the core was asked %d times more for probes of one moment", n)
			}
		})
	}
}

// While the end is near, answers have the connections closed behind them, whole and at once.
func TestDrainingConnectionsAreClosed(t *testing.T) {
	draining := make(chan struct{})
	e := serve(t, func(config *gateway.Config) { config.Draining = draining })
	ask := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL+"/livez", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	if ask().Close {
		t.Error("the connection is closed while the edge serves")
	}
	close(draining)
	begun := time.Now()
	if resp := ask(); !resp.Close || resp.StatusCode != http.StatusOK {
		t.Errorf("draining: %d, connection closed: %v", resp.StatusCode, resp.Close)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
