package auth

import (
	"context"
	"net/netip"

	"github.com/genway/genway/core/call"
	"google.golang.org/grpc/peer"
)

// AddressKey is the metadata in which an edge names its caller's address, with or
// without a port.
const AddressKey = "genway-client"

// AddressOf gives the address a call comes from: as an edge reports it for its callers,
// the connection's own for direct ones. It is the zero Addr where none is known.
func AddressOf(ctx context.Context, caller call.Caller) netip.Addr {
	text := ""
	if caller.Edge {
		text = metadataOf(ctx, AddressKey)
	} else if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		text = p.Addr.String()
	}
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr()
	}
	address, _ := netip.ParseAddr(text)
	return address
}
