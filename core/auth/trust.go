package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"slices"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Trust says whether a call comes from an edge. What an edge says of its callers
// (their protocol, their bodies) is believed; a direct caller could otherwise
// smuggle a body past admission.
type Trust func(ctx context.Context) bool

// SecretKey is the metadata in which an edge shows the shared secret.
const SecretKey = "genway-edge-secret" //nolint:gosec // the name of the metadata, not a secret

// TrustAll is for a channel inside the process.
func TrustAll(context.Context) bool { return true }

// TrustSecret trusts peers that know the shared secret. An empty secret trusts none.
func TrustSecret(secret string) Trust {
	want := sha256.Sum256([]byte(secret))
	return func(ctx context.Context) bool {
		got := sha256.Sum256([]byte(metadataOf(ctx, SecretKey)))
		return secret != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
	}
}

// TrustUnixSocket trusts peers on the core's unix socket, to which only its own user
// may connect.
func TrustUnixSocket(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.Addr != nil && p.Addr.Network() == "unix"
}

// TrustCertificate trusts callers with a certificate that the listener has verified and
// that is of one of the authorities, as of now. The listener may verify certificates of
// other authorities, too; those make no edge.
func TrustCertificate(authorities func() []*x509.Certificate) Trust {
	return func(ctx context.Context) bool {
		for _, chain := range verified(ctx) {
			last := chain[len(chain)-1]
			if slices.ContainsFunc(authorities(), last.Equal) {
				return true
			}
		}
		return false
	}
}

// verified gives the chains of the certificate of a connection's other end that the
// listener has verified; none without one.
func verified(ctx context.Context) [][]*x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	return info.State.VerifiedChains
}

// TrustAny trusts whom one of the given does.
func TrustAny(trusts ...Trust) Trust {
	return func(ctx context.Context) bool {
		for _, t := range trusts {
			if t(ctx) {
				return true
			}
		}
		return false
	}
}
