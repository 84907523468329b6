// Package auth says who makes a call and whether that key may make it. The
// caller's key comes as authorization metadata. Which JSON protocol a call came in
// by is believed only from an edge that has proved to be one; everything else is a
// direct caller.
//
// It must not import the gateway, nor reach a store but through Keys.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Keys finds the principal of a key. *keys.Service is one.
type Keys interface {
	// Authenticate returns the principal of a live key. The error is
	// keys.ErrWrongKey for every key that is not one, and anything else when
	// that could not be found out.
	Authenticate(ctx context.Context, raw string) (keys.Principal, error)
}

// ProtocolKey is the metadata by which an edge names the caller's protocol.
const ProtocolKey = "genway-protocol"

// Authenticator identifies callers.
type Authenticator struct {
	Keys  Keys
	Trust Trust
}

// Administrates reports whether a method is one of the Admin service.
func Administrates(method string) bool { return strings.HasPrefix(method, "/genway.admin.v1.") }

// Authenticate returns the caller of the call of that method that ctx belongs to. Errors
// are *fault.Error values: a key that is unknown, revoked or expired gets one and the
// same answer. For a good key of another group the error names the group, and the caller is
// returned with it, for the log; so is, with every error, the protocol that a trusted edge names.
//
// The Admin service takes only keys of the group admin, whatever an edge sends, and
// no other service takes those (case K11).
func (a Authenticator) Authenticate(ctx context.Context, method string) (call.Caller, error) {
	caller, needed, way, err := a.way(ctx, method)
	if err != nil {
		return caller, err
	}
	if n := len(transport.Incoming(ctx, "authorization")); n > 1 {
		return caller, fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "the authorization metadata is there %d times; send one API key", n)
	}
	raw := bearer(ctx)
	if raw == "" {
		return caller, fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no API key was sent; put it into the authorization metadata, as Bearer")
	}
	principal, err := a.Keys.Authenticate(ctx, raw)
	switch {
	case errors.Is(err, keys.ErrWrongKey):
		return caller, fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key")
	case err != nil:
		f := fault.Wrap(err, fault.Unavailable, ReasonKeysUnavailable, "keys cannot be checked at the moment; try again")
		f.RetryAfter = time.Second
		return caller, f
	}
	caller.Principal = principal
	if !principal.Group.Has(needed) {
		return caller, fault.New(fault.PermissionDenied, fault.ReasonWrongGroup,
			"this key is of %s; %s a key of %s", principal.Group.Words(), way, needed.Words())
	}
	return caller, nil
}

// FromEdge reports whether a trusted edge made the call that ctx belongs to.
func (a Authenticator) FromEdge(ctx context.Context) bool {
	return metadataOf(ctx, ProtocolKey) != "" && a.Trusts(ctx)
}

// Trusts reports whether the call that ctx belongs to comes over a connection that only edges
// have: an edge's own call, as of the health service, or one for its caller.
func (a Authenticator) Trusts(ctx context.Context) bool { return a.Trust != nil && a.Trust(ctx) }

// way returns what the way of a call says of its caller: the protocol, and whether a trusted edge
// made the call. It also returns the group whose keys the method takes, and the reason in words.
func (a Authenticator) way(ctx context.Context, method string) (caller call.Caller, needed keys.Group, why string, err error) {
	switch name := metadataOf(ctx, ProtocolKey); {
	case Administrates(method):
		return caller, keys.GroupAdmin, "the Admin service needs", nil
	case name == "": // a direct caller
		return caller, keys.GroupInternal, "direct gRPC calls need", nil
	case a.Trust == nil || !a.Trust(ctx):
		// Most likely an edge with a wrong secret: the error tells its operator so.
		return caller, keys.GroupInternal, "the edge did not prove to be one, and direct gRPC calls need", nil
	default:
		p := protocol.ByName(name)
		if p == nil {
			return caller, "", "", fault.Wrap(fmt.Errorf("edge names protocol %q", name), fault.Internal, "UNKNOWN_PROTOCOL", "%s", fault.InternalMessage)
		}
		caller.Protocol, caller.Edge = p.ID, true
		return caller, keys.Group(p.KeyGroup), "this protocol needs", nil
	}
}

func bearer(ctx context.Context) string {
	scheme, key, ok := strings.Cut(metadataOf(ctx, "authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(key, " \t")
}

// metadataOf returns the last value of a call's metadata of that name.
func metadataOf(ctx context.Context, name string) string {
	values := transport.Incoming(ctx, name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// ReasonKeysUnavailable is the reason of calls whose key cannot be looked up.
const ReasonKeysUnavailable = "KEYS_UNAVAILABLE"

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

// verified returns the chains of the certificate of a connection's other end that the
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

// AddressKey is the metadata in which an edge names its caller's address, with or
// without a port.
const AddressKey = "genway-client"

// AddressOf returns the address a call comes from: as an edge reports it for its callers,
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

// CertificateKey is the metadata in which an edge sends the names of the certificate that
// its caller has shown and that is of an authority, a value each, as certs.Names returns them.
const CertificateKey = "genway-client-certificate"

// CertificateOf returns the names of the certificate that a caller has shown: as an edge
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
