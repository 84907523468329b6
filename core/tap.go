package core

import (
	"context"
	"log/slog"

	"google.golang.org/grpc/tap"
)

// Tap refuses direct callers whose key is not good by the headers of their call, before
// any of its message is read. The key of a call from an edge is looked at when its message
// is there: edges bound what their callers may send.
//
// It is for grpc.InTapHandle, which runs it on the goroutine that reads the connection: a
// key that has to be looked up in the store holds up the caller's own connection alone.
func (i Interceptors) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if open(info.FullMethodName) || i.Authenticator.FromEdge(ctx) {
		return ctx, nil
	}
	_, call := i.begin(ctx, info.FullMethodName)
	if _, err := i.identify(ctx, call); err != nil {
		log := i.Logger
		if log == nil {
			log = slog.Default()
		}
		call.log(ctx, log, err)
		return ctx, statusError(err, call.id)
	}
	return ctx, nil
}
