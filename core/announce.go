package core

import (
	"context"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// deferredBodies is the announcement that this core takes deferred bodies.
var deferredBodies = []string{transport.DeferredBodies}

// announce adds to the trailer of an edge's call what the edge needs to know of this core: that
// it takes deferred bodies, and whether the call may be sent to another core. The former is left
// out where the edge knows it: an edge in this process knows it from the start, and an edge
// that sent this request deferred has had the announcement on this connection.
func (i Interceptors) announce(ctx context.Context, r *call.Record, err error) {
	if !r.Caller.Edge {
		return
	}
	how, known := refusedAs(r, err), i.InProcess || r.Deferred
	if known && how == "" {
		return
	}
	trailer := metadata.MD{}
	if !known {
		trailer[transport.AcceptsKey] = deferredBodies
	}
	if how != "" {
		trailer[transport.RefusedKey] = []string{how}
	}
	_ = grpc.SetTrailer(ctx, trailer) // fails outside of a gRPC server only
}

// refusedAs gives the value of transport.RefusedKey for a call that has failed before it was
// admitted, for a reason that another core may not share; otherwise it is empty. An entry that
// the ledger could not write in time may still be written, so such a call does not count.
func refusedAs(r *call.Record, err error) string {
	if err == nil || r.Admitted {
		return ""
	}
	switch f := fault.From(err); {
	case f.Reason == ledger.ReasonRefused:
	case f.Kind == fault.Unavailable:
		return transport.RefusedUnavailable
	case f.Kind == fault.Overloaded:
		return transport.RefusedOverloaded
	}
	return ""
}
