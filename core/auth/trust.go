package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

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

// TrustSecret trusts whoever knows the shared secret. An empty secret trusts
// nobody.
func TrustSecret(secret string) Trust {
	want := sha256.Sum256([]byte(secret))
	return func(ctx context.Context) bool {
		got := sha256.Sum256([]byte(said(ctx, SecretKey)))
		return secret != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
	}
}

// TrustUnixSocket trusts whoever may connect to the core's unix socket, which only
// its own user may.
func TrustUnixSocket(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.Addr != nil && p.Addr.Network() == "unix"
}

// TrustCertificate trusts whoever shows a certificate that the listener has
// verified.
func TrustCertificate(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	return ok && len(info.State.VerifiedChains) > 0
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
