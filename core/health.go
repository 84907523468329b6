package core

import (
	"context"
	"slices"
	"sync"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// partEnding is the name of what fails of a server that is about to end.
const partEnding = "shutdown"

// readiness is the server's health service. The services of the contract are SERVING while
// no part of the core fails; the server as a whole, the service "", is so until its end.
type readiness struct {
	*health.Server

	services []string

	mu       sync.Mutex
	failing  []string
	draining bool
}

func newReadiness(services ...string) *readiness {
	r := &readiness{Server: health.NewServer(), services: services}
	r.set(nil)
	return r
}

// servicesOf names the services whose health is reported.
func servicesOf(config ServerConfig) []string {
	services := []string{genwayv1.Generation_ServiceDesc.ServiceName}
	if config.Admin != nil {
		services = append(services, adminv1.Admin_ServiceDesc.ServiceName)
	}
	return services
}

// Check answers with the parts that fail in the header, for edges.
func (r *readiness) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if failing := r.parts(); len(failing) > 0 {
		_ = grpc.SetHeader(ctx, metadata.MD{transport.FailingKey: failing}) // it fails outside of a gRPC server
	}
	return r.Server.Check(ctx, req)
}

// parts returns the parts that fail.
func (r *readiness) parts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing
}

// set replaces the parts that fail, and the status of each service with them.
func (r *readiness) set(failing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		failing = append(slices.Clone(failing), partEnding)
	}
	r.failing = failing
	status := grpc_health_v1.HealthCheckResponse_SERVING
	if len(failing) > 0 {
		status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	for _, service := range r.services {
		r.SetServingStatus(service, status)
	}
}

// drain says that the server is about to end.
func (r *readiness) drain() {
	r.mu.Lock()
	failing, already := r.failing, r.draining
	r.draining = true
	r.mu.Unlock()
	if !already {
		r.set(failing)
	}
}

// SetFailing names the parts of the core that keep it from being ready; none make it
// ready. Every client of the health service sees the names.
func (s *Server) SetFailing(parts []string) { s.health.set(parts) }

// Failing names the parts that keep the server from being ready.
func (s *Server) Failing() []string { return s.health.parts() }

// Drain says that the server is not ready, since it is about to end. It still serves.
func (s *Server) Drain() { s.health.drain() }
