package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The paths of probes, named as Kubernetes names its own servers'. They need no key.
const (
	// livePath is answered 200 while the process serves.
	livePath = "/livez"
	// readyPath is answered 200 while the edge is ready, and 503 with the parts that fail
	// otherwise.
	readyPath = "/readyz"
	// healthPath is readyPath under its older name.
	healthPath = "/healthz"
)

func isProbe(path string) bool { return path == livePath || path == readyPath || path == healthPath }

// The parts of an edge that may fail; a core has others.
const (
	partCore   = "core"
	partEnding = "shutdown"
)

const (
	// readyFor is how long a core's answer is cached, since anybody may probe at any rate.
	readyFor = 500 * time.Millisecond
	// readyWithin bounds the wait for the core's answer.
	readyWithin = 2 * time.Second
)

// readiness caches what the core has reported of its own readiness.
type readiness struct {
	client grpc_health_v1.HealthClient

	mu      sync.Mutex
	failing []string
	until   time.Time
}

// parts returns the parts that keep the core from being ready. Of concurrent probes one asks
// the core and the others wait for its answer.
func (r *readiness) parts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.failing
	}
	// Other probes wait for the answer, too, so this caller's context does not cancel it.
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	var header metadata.MD
	answer, err := r.client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: genwayv1.Generation_ServiceDesc.ServiceName}, grpc.Header(&header))
	r.failing = nil
	if status.Code(err) == codes.Unimplemented { // a core without the service of health answers, so it is ready
		err, answer = nil, &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}
	}
	if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		r.failing = partsOf(header)
	}
	r.until = time.Now().Add(readyFor)
	return r.failing
}

// partsOf returns the parts that a core has named; the core itself where it has named none.
func partsOf(header metadata.MD) []string {
	var parts []string
	for _, part := range header.Get(transport.FailingKey) {
		if part == partEnding { // the core's end is not the edge's
			part = partCore
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{partCore}
	}
	return parts
}

// draining reports whether the edge is shutting down.
func (e *Edge) draining() bool {
	select {
	case <-e.config.Draining:
		return true
	default:
		return false
	}
}

// live answers the liveness probe.
func live(_ *Edge, w *answerWriter, _ *http.Request) { answerProbe(w, nil) }

// ready answers the readiness probe.
func ready(e *Edge, w *answerWriter, _ *http.Request) {
	answerProbe(w, e.Failing())
}

// Failing names the parts that keep the edge from being ready. It may wait for a core, for 2 s
// at most.
func (e *Edge) Failing() []string {
	if e.draining() {
		return []string{partEnding}
	}
	return e.readiness.parts()
}

// CoreReady reports whether a core serves the edge. It may wait for one, as Failing does.
func (e *Edge) CoreReady() bool { return len(e.readiness.parts()) == 0 }

// answerProbe answers a probe with the names of the failing parts and nothing else internal.
func answerProbe(w *answerWriter, failing []string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(failing) == 0 {
		_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	//nolint:errchkjson // texts can be encoded, and a probe that has disconnected needs no answer
	_ = json.NewEncoder(w).Encode(struct {
		Status  string   `json:"status"`
		Failing []string `json:"failing"`
	}{"not ready", failing})
}
