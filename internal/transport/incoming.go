package transport

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Incoming returns the values of the metadata of that name, in lower case, which a call came with; nil for
// none. They must not be changed. A call within the process has its own (package inproc); of
// others grpc copies the values, and compares a name that is not there with all that are.
func Incoming(ctx context.Context, name string) []string {
	if call, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ Incoming() metadata.MD }); ok {
		return call.Incoming()[name]
	}
	return metadata.ValueFromIncomingContext(ctx, name)
}
