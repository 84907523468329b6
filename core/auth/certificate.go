package auth

import (
	"context"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/transport"
)

// CertificateKey is the metadata in which an edge sends the names of the certificate that
// its caller has shown and that is of an authority, a value each, as certs.Names gives them.
const CertificateKey = "genway-client-certificate"

// CertificateOf gives the names of the certificate that a caller has shown: as an edge
// reports it for its callers, and as the connection has it for direct ones. It is none where none was
// shown.
func CertificateOf(ctx context.Context, caller call.Caller) []string {
	if caller.Edge {
		return transport.Incoming(ctx, CertificateKey)
	}
	if chains := verified(ctx); len(chains) > 0 {
		return certs.Names(chains[0][0])
	}
	return nil
}
