package core

import (
	"context"
	"net"
	"net/netip"

	"github.com/genway/genway/core/auth"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/internal/transport/inproc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
)

// Channel gives an edge in the same process its way to the service: calls without a
// network, through the same interceptors. Messages are handed over, not copied:
// the sender must not touch one again. The edge knows that the service takes deferred bodies.
func Channel(service *Service, interceptors Interceptors, health grpc_health_v1.HealthServer) grpc.ClientConnInterface {
	channel := &inproc.Channel{Unary: interceptors.Unary, Stream: interceptors.Stream}
	genwayv1.RegisterGenerationServer(channel, service)
	grpc_health_v1.RegisterHealthServer(channel, health)
	return inProcess{channel}
}

// AdminChannel gives a console in the same process its way to the Admin service: calls without
// a network, through the same interceptors, with the rights of the key that each call shows.
// The console is believed where its caller is (auth.AddressKey), for keys that are good from
// some addresses only.
func AdminChannel(service adminv1.AdminServer, interceptors Interceptors) grpc.ClientConnInterface {
	channel := believed(interceptors)
	adminv1.RegisterAdminServer(channel, service)
	return channel
}

// DirectChannel gives a console in the same process its way to the Generation service as a direct
// caller, with the rights of the key that each call shows. Where the caller is, is believed as by
// AdminChannel; that it is an edge is not.
func DirectChannel(service *Service, interceptors Interceptors) grpc.ClientConnInterface {
	channel := believed(interceptors)
	genwayv1.RegisterGenerationServer(channel, service)
	return channel
}

// believed makes a channel whose calls say where they come from.
func believed(interceptors Interceptors) *inproc.Channel {
	return &inproc.Channel{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return interceptors.Unary(from(ctx), req, info, handler)
		},
		Stream: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return interceptors.Stream(srv, &serverStream{ServerStream: stream, ctx: from(stream.Context()), only: true}, info, handler)
		},
	}
}

// from gives a context whose peer is where a console's caller is.
func from(ctx context.Context) context.Context {
	if shown := transport.Incoming(ctx, auth.AddressKey); len(shown) == 1 {
		if at, err := netip.ParseAddr(shown[0]); err == nil {
			return peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 0))})
		}
	}
	return ctx
}

// inProcess is a connection to the core of this process.
type inProcess struct{ *inproc.Channel }

// TakesDeferredBodies reports what a core announces over a connection.
func (inProcess) TakesDeferredBodies() bool { return true }
