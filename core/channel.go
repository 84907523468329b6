package core

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Channel gives an edge in the same process its way to the service: calls without a
// network, through the same interceptors. Messages are handed over, not copied:
// whoever sends one does not touch it again. The edge knows that the service takes deferred bodies.
func Channel(service *Service, interceptors Interceptors, health grpc_health_v1.HealthServer) grpc.ClientConnInterface {
	channel := &inproc.Channel{Unary: interceptors.Unary, Stream: interceptors.Stream}
	genwayv1.RegisterGenerationServer(channel, service)
	grpc_health_v1.RegisterHealthServer(channel, health)
	return inProcess{channel}
}

// inProcess is a connection to the core of this process.
type inProcess struct{ *inproc.Channel }

// TakesDeferredBodies reports what a core announces over a connection.
func (inProcess) TakesDeferredBodies() bool { return true }
