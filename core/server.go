package core

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/hop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// ServerConfig bounds a gRPC server. The zero value has the defaults.
type ServerConfig struct {
	// TLS, if set, encrypts; with ClientCAs it makes edges of certificates.
	TLS *tls.Config
	// MaxMessageBytes bounds a message, both ways. Default 128 MiB.
	MaxMessageBytes int
	// MaxStreams bounds the calls at once on one connection. Default 10,000.
	MaxStreams uint32
	// Admin, if set, is served as well.
	Admin adminv1.AdminServer
	// Grace is how long calls in flight may go on after the end was asked for.
	// Default 20 s.
	Grace time.Duration
}

// Server serves the service over gRPC, with health and reflection.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
	grace  time.Duration
}

// maxHeaderBytes bounds the metadata of a call.
const maxHeaderBytes = 64 << 10

// NewServer makes a server of the service.
func NewServer(service *Service, interceptors Interceptors, config ServerConfig) *Server {
	if config.MaxMessageBytes == 0 {
		config.MaxMessageBytes = hop.MaxMessageBytes
	}
	if config.MaxStreams == 0 {
		config.MaxStreams = 10_000
	}
	if config.Grace == 0 {
		config.Grace = 20 * time.Second
	}
	options := append(hop.ServerOptions(config.MaxMessageBytes),
		grpc.UnaryInterceptor(hop.Reuse(interceptors.Unary)),
		grpc.StreamInterceptor(interceptors.Stream),
		grpc.InTapHandle(interceptors.Tap),
		grpc.MaxConcurrentStreams(config.MaxStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	if config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config.TLS)))
	}
	s := &Server{grpc: grpc.NewServer(options...), health: health.NewServer(), grace: config.Grace}
	genwayv1.RegisterGenerationServer(s.grpc, service)
	if config.Admin != nil {
		adminv1.RegisterAdminServer(s.grpc, config.Admin)
		s.health.SetServingStatus(adminv1.Admin_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	s.health.SetServingStatus(genwayv1.Generation_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	return s
}

// Health is the server's health service, to be served on other channels too.
func (s *Server) Health() grpc_health_v1.HealthServer { return s.health }

// Serve answers calls on the listener until ctx ends, then says that it is not
// ready, sends GOAWAY and finishes the calls in flight, up to the grace. It gives
// nil after that.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.grpc.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.health.Shutdown()
	timer := time.AfterFunc(s.grace, s.grpc.Stop)
	defer timer.Stop()
	s.grpc.GracefulStop()
	// An end that comes ahead of the start is a clean one, too.
	if err := <-failed; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Close ends what a server has that has not served: those that have are at their end
// when Serve is.
func (s *Server) Close() { s.grpc.Stop() }
