package core

import (
	"context"
	"net/netip"

	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/intake"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/frames"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// Tap refuses direct callers whose key is not good by the headers of their call, before
// any of its message is read, and has the intake bound what the others send. The key of a
// call from an edge is looked at when its message is there: edges bound what their callers
// may send.
//
// It is for grpc.InTapHandle, which runs it on the goroutine that reads the connection: a
// key that has to be looked up in the store holds up only the caller's own connection.
func (i Interceptors) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if i.Authenticator.FromEdge(ctx) || open(info.FullMethodName) && i.Authenticator.Trusts(ctx) {
		if connection, ok := peer.FromContext(ctx); ok { // it carries the calls of many callers
			frames.Trust(connection.Addr)
		}
		return ctx, nil
	}
	_, record := i.begin(ctx, info.FullMethodName)
	if !open(info.FullMethodName) {
		if err := i.identify(ctx, record); err != nil {
			return i.turnAway(ctx, record, err)
		}
	}
	if i.Intake == nil {
		return ctx, nil
	}
	who := intake.Caller{Key: record.Caller.KeyID, Keyless: open(info.FullMethodName)}
	if address := auth.AddressOf(ctx, record.Caller); address.IsValid() {
		who.Address = networkOf(address)
	}
	taken, err := i.Intake.Begin(ctx, who)
	if err != nil {
		return i.turnAway(ctx, record, err)
	}
	return taken, nil
}

// networkOf names the address, or of IPv6 the network of 64 bits, that one caller has.
func networkOf(address netip.Addr) string {
	address = address.Unmap()
	if address.Is6() {
		if network, err := address.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

// turnAway refuses a call by its headers. One with a deadline is refused by its handler:
// grpc-go keeps the timer of a deadline whose call a tap has refused.
func (i Interceptors) turnAway(ctx context.Context, record *call.Record, err error) (context.Context, error) {
	i.finish(ctx, record, err)
	err = statusError(err, record.ID)
	if _, timed := ctx.Deadline(); timed {
		return intake.Refuse(ctx, err), nil
	}
	return ctx, err
}

// refused gives the error of a call that turnAway has left to its handler, with the call's
// identifier in the headers; nil for a call that goes on.
func refused(ctx context.Context) error {
	err := intake.Refused(ctx)
	for _, detail := range status.Convert(err).Details() {
		if d, ok := detail.(*genwayv1.ErrorDetail); ok {
			_ = grpc.SetHeader(ctx, metadata.Pairs(RequestIDKey, d.GetRequestId())) // it fails outside of a gRPC server
		}
	}
	return err
}
