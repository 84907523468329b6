package cores

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// Delivery is the context of one call of a core. The interceptors, the balancer and the
// credentials of the call share it. It costs one allocation, where context.WithValue costs one
// for each value.
type Delivery struct {
	context.Context //nolint:containedctx // it is a context itself

	known     *knowledge
	deferred  bool
	refused   atomic.Bool
	transport atomic.Pointer[transportInfo] // the last on which the call was to be sent
	options   [4]grpc.CallOption            // room for those of the call
}

type deliveryKey struct{}

// Value returns the delivery itself, and the values of its context.
func (d *Delivery) Value(key any) any {
	if key == (deliveryKey{}) {
		return d
	}
	return d.Context.Value(key)
}

func deliveryOf(ctx context.Context) *Delivery {
	d, _ := ctx.Value(deliveryKey{}).(*Delivery)
	return d
}

// Deferred returns a context for the call of a request with a deferred body. The call fails,
// without having been sent, where the core has not announced that it takes such bodies on the
// transport that gRPC has chosen.
func Deferred(ctx context.Context) *Delivery { return &Delivery{Context: ctx, deferred: true} }

// NeedsWhole reports, of a call that failed, that it was not sent, and is to be sent whole.
func (d *Delivery) NeedsWhole() bool { return d.refused.Load() }

// transportInfo is the AuthInfo of one transport, which is one network connection and never another
// one. It has what the core at the other end has announced.
type transportInfo struct {
	credentials.AuthInfo

	takesDeferred atomic.Bool
}

// GetCommonAuthInfo returns the security of the transport, as its handshake does.
func (t *transportInfo) GetCommonAuthInfo() credentials.CommonAuthInfo {
	if common, ok := t.AuthInfo.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		return common.GetCommonAuthInfo()
	}
	return credentials.CommonAuthInfo{}
}

// identified are transport credentials that give each transport a transportInfo.
type identified struct {
	credentials.TransportCredentials
}

// ClientHandshake makes the handshake of the credentials.
func (i identified) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := i.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, err
	}
	return conn, &transportInfo{AuthInfo: info}, nil
}

// Clone returns credentials of their own.
func (i identified) Clone() credentials.TransportCredentials {
	return identified{i.TransportCredentials.Clone()}
}

// errNotAnnounced ends a call with a deferred body whose core has not announced that it takes such.
var errNotAnnounced = status.Error(codes.Unavailable, "cores: the core has not announced that it takes deferred bodies")

// announced sends a call with a deferred body only on a transport over which the core has announced
// that it takes such. gRPC asks the credentials of a call when it has chosen the transport and has
// sent nothing. The picker cannot decide this: it chooses an address, and gRPC may replace the transport to that
// address between the choice and the call.
type announced struct{}

//nolint:gochecknoglobals // a constant
var onlyAnnounced = grpc.PerRPCCredentials(announced{})

// GetRequestMetadata adds no headers. It notes the transport of the call.
func (announced) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	d := deliveryOf(ctx)
	request, _ := credentials.RequestInfoFromContext(ctx)
	t, _ := request.AuthInfo.(*transportInfo)
	d.transport.Store(t)
	if d.deferred && (t == nil || !t.takesDeferred.Load()) {
		d.refused.Store(true)
		return nil, errNotAnnounced
	}
	return nil, nil //nolint:nilnil // no headers
}

// RequireTransportSecurity reports that these are no secret.
func (announced) RequireTransportSecurity() bool { return false }

// prepare returns a call's delivery, unless nothing can be learnt from it and nothing has to be checked.
func (k *knowledge) prepare(ctx context.Context, options []grpc.CallOption) (context.Context, []grpc.CallOption) {
	d := deliveryOf(ctx)
	if d == nil {
		if k.takeDeferred() {
			return ctx, options
		}
		d = &Delivery{Context: ctx}
		ctx = d
	}
	d.known = k
	return ctx, append(append(d.options[:0], options...), onlyAnnounced)
}

// options have each call carry its delivery.
func (k *knowledge) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			ctx, opts = k.prepare(ctx, opts)
			return invoke(ctx, method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, opts = k.prepare(ctx, opts)
			return streamer(ctx, desc, conn, method, opts...)
		}),
	}
}
