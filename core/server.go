package core

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/genway/genway/core/intake"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/frames"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
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
	// MessageMemory bounds the bytes of the messages of all direct callers that are in
	// memory. Default 512 MiB, at least four times MaxMessageBytes.
	MessageMemory int64
	// ReceiveWindow is the time in which a direct caller's message must come, or as much of
	// it as the least rate demands. Default 30 s.
	ReceiveWindow time.Duration
	// MaxStreams bounds the calls at once on one connection. Default 10,000.
	MaxStreams uint32
	// Admin, if set, is served as well.
	Admin adminv1.AdminServer
	// Flooded, if set, is called with the address of each peer whose connection is ended
	// because it makes work out of nothing over HTTP/2.
	Flooded func(from net.Addr)
	// Grace is how long calls in flight may go on after the end was asked for.
	// Default 20 s; negative is not at all.
	Grace time.Duration
	// MaxConnectionAge is how old a connection becomes, plus or minus a tenth, before its
	// client is asked (GOAWAY) to make its next calls on another. Calls in flight are not
	// touched, however long they take. Default: any age.
	MaxConnectionAge time.Duration
}

// Server serves the service over gRPC, with health and reflection.
type Server struct {
	grpc    *grpc.Server
	service *Service
	health  *readiness
	intake  *intake.Intake
	grace   time.Duration
}

// maxHeaderBytes bounds the metadata of a call.
const maxHeaderBytes = 64 << 10

// NewServer makes a server of the service.
func NewServer(service *Service, interceptors Interceptors, config ServerConfig) *Server {
	if config.MaxMessageBytes == 0 {
		config.MaxMessageBytes = transport.MaxMessageBytes
	}
	if config.MaxStreams == 0 {
		config.MaxStreams = 10_000
	}
	if config.Grace == 0 {
		config.Grace = 20 * time.Second
	}
	interceptors.Intake = intake.New(intake.Config{Memory: config.MessageMemory, MaxMessageBytes: config.MaxMessageBytes, Window: config.ReceiveWindow})
	options := append(transport.ServerOptions(config.MaxMessageBytes),
		grpc.StreamInterceptor(interceptors.Stream),
		grpc.InTapHandle(interceptors.Tap),
		grpc.MaxConcurrentStreams(config.MaxStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionAge: config.MaxConnectionAge}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	creds := insecure.NewCredentials()
	if config.TLS != nil {
		creds = credentials.NewTLS(config.TLS)
	}
	options = append(options, grpc.Creds(frames.Credentials(creds, config.Flooded)))
	s := &Server{service: service, grpc: grpc.NewServer(options...), health: newReadiness(servicesOf(config)...), intake: interceptors.Intake, grace: config.Grace}
	services := registrar{s.grpc, interceptors, transport.Reuse(interceptors.Unary)}
	genwayv1.RegisterGenerationServer(services, service)
	edgev1.RegisterAccessServer(services, service)
	if config.Admin != nil {
		adminv1.RegisterAdminServer(services, config.Admin)
	}
	grpc_health_v1.RegisterHealthServer(services, s.health)
	reflection.Register(services)
	return s
}

// Health is the server's health service, to be served on other channels too.
func (s *Server) Health() grpc_health_v1.HealthServer { return s.health }

// Serve answers calls on the listener until ctx ends, then says that it is not
// ready, sends GOAWAY and finishes the calls in flight and the responses in the background, up to the grace. It
// returns nil after that.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.grpc.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.health.drain()
	s.health.Shutdown()
	s.intake.Drain()
	timer := time.AfterFunc(s.grace, s.grpc.Stop)
	defer timer.Stop()
	ending, end := context.WithTimeout(context.WithoutCancel(ctx), max(s.grace, 0))
	defer end()
	s.grpc.GracefulStop()
	s.service.Drain(ending)
	// An end before the start is clean, too.
	if err := <-failed; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Close ends what a server has that has not served, and the responses that another way to the service has begun in the
// background: a server that has served is at its end when Serve is.
func (s *Server) Close() {
	s.grpc.Stop()
	ended, end := context.WithCancel(context.Background())
	end()
	s.service.Drain(ended)
}
