package auth_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// groups are keys by their text: a key of each group has its name.
type groups struct{}

func (groups) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	switch group := keys.Group(raw); {
	case parsed(group):
		return keys.Principal{KeyID: "key_" + raw, Group: group}, nil
	case raw == "unavailable":
		return keys.Principal{}, errors.New("disk on fire")
	}
	return keys.Principal{}, keys.ErrWrongKey
}

// parsed reports whether a text is a group, or several in their order.
func parsed(group keys.Group) bool {
	of, err := keys.ParseGroup(string(group))
	return err == nil && of == group
}

const (
	generate  = "/genway.v1.Generation/GenerateText"
	configure = "/genway.admin.v1.Admin/CreateKey"
	secret    = "the right one"
)

// An edge with a wrong secret is a direct caller, whose operator is shown that it is the edge that is wrong, not
// the callers' keys. Keys of a group are for its protocols, those of administrators for the Admin service alone.
func TestWhoMayCall(t *testing.T) {
	a := auth.Authenticator{Keys: groups{}, Trust: auth.TrustSecret(secret)}
	edge := func(protocol string) []string {
		return []string{auth.ProtocolKey, protocol, auth.SecretKey, secret}
	}
	for _, c := range []struct {
		name, method string
		md, keys     []string
		edge         bool
		reason       string // empty for callers that may
		says         string
	}{
		{"an edge's caller", generate, edge("responses"), []string{"Bearer chat"}, true, "", ""},
		{"a key of several groups", generate, edge("messages"), []string{"Bearer chat,messages"}, true, "", ""},
		{"a key of several other groups", generate, edge("generate_content"), []string{"Bearer chat,messages"}, true, fault.ReasonWrongGroup, "this key is of the groups chat, messages; this protocol needs a key of the group generatecontent"},
		{"a direct caller with a key of several", generate, nil, []string{"Bearer chat,messages,generatecontent"}, false, fault.ReasonWrongGroup, "direct gRPC calls need"},
		{"another protocol's key", generate, edge("messages"), []string{"Bearer chat"}, true, fault.ReasonWrongGroup, "is of the group chat"},
		{"a direct caller's key", generate, edge("responses"), []string{"Bearer internal"}, true, fault.ReasonWrongGroup, "is of the group internal"},
		{"an edge with a wrong secret", generate, []string{auth.ProtocolKey, "responses", auth.SecretKey, "a wrong one"}, []string{"Bearer chat"}, false, fault.ReasonWrongGroup, "the edge did not prove to be one"},
		{"an edge without a secret", generate, []string{auth.ProtocolKey, "responses"}, []string{"Bearer chat"}, false, fault.ReasonWrongGroup, "the edge did not prove to be one"},
		{"an unknown protocol", generate, edge("gopher"), []string{"Bearer chat"}, false, "UNKNOWN_PROTOCOL", ""},
		{"a direct caller", generate, nil, []string{"Bearer internal"}, false, "", ""},
		{"a direct caller, in other letters", generate, nil, []string{"bEARER  internal\t"}, false, "", ""},
		{"a direct caller with the secret", generate, []string{auth.SecretKey, secret}, []string{"Bearer chat"}, false, fault.ReasonWrongGroup, "is of the group chat; direct gRPC calls"},
		{"an administrator who generates", generate, nil, []string{"Bearer admin"}, false, fault.ReasonWrongGroup, "is of the group admin"},
		{"an administrator who generates by an edge", generate, edge("responses"), []string{"Bearer admin"}, true, fault.ReasonWrongGroup, "is of the group admin"},
		{"an administrator", configure, nil, []string{"Bearer admin"}, false, "", ""},
		{"an administrator by an edge", configure, edge("responses"), []string{"Bearer admin"}, false, "", ""},
		{"a caller who administrates", configure, nil, []string{"Bearer internal"}, false, fault.ReasonWrongGroup, "the Admin service needs"},
		{"a caller who administrates by an edge", configure, edge("responses"), []string{"Bearer chat"}, false, fault.ReasonWrongGroup, "the Admin service needs"},
		{"no key", generate, nil, nil, false, fault.ReasonMissingKey, ""},
		{"an empty key", generate, nil, []string{"Bearer  "}, false, fault.ReasonMissingKey, ""},
		{"another scheme", generate, nil, []string{"Basic internal"}, false, fault.ReasonMissingKey, ""},
		{"an unknown key", generate, nil, []string{"Bearer internal2"}, false, fault.ReasonInvalidKey, ""},
		{"two keys", generate, nil, []string{"Bearer internal", "Bearer internal"}, false, fault.ReasonInvalidKey, "2 times"},
		{"a key that cannot be looked up", generate, nil, []string{"Bearer unavailable"}, false, auth.ReasonKeysUnavailable, ""},
	} {
		md := metadata.Pairs(c.md...)
		md.Set("authorization", c.keys...)
		caller, err := a.Authenticate(metadata.NewIncomingContext(t.Context(), md), c.method)
		f, failed := errors.AsType[*fault.Error](err)
		if caller.Edge != c.edge || failed != (c.reason != "") || failed && (f.Reason != c.reason || !strings.Contains(f.Message, c.says)) || err != nil && !failed {
			t.Errorf("%s: edge: %v, %v", c.name, caller.Edge, err)
		}
		if c.reason == "" && caller.KeyID != "key_"+string(caller.Group) {
			t.Errorf("%s: %+v", c.name, caller)
		}
	}
}

// connection is a context of a call on a connection from an address, with a certificate of an authority that the
// listener has verified; nil for none.
func connection(t *testing.T, from net.Addr, authority *x509.Certificate) context.Context {
	t.Helper()
	p := &peer.Peer{Addr: from}
	if authority != nil {
		leaf := &x509.Certificate{Raw: []byte("a client"), DNSNames: []string{"client.example"}}
		p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf, authority}}}}
	}
	return peer.NewContext(t.Context(), p)
}

// A core without a secret trusts no edge by one, whatever the edge shows; and no edge is trusted for what others show.
func TestTrust(t *testing.T) {
	ours, other := &x509.Certificate{Raw: []byte("ours")}, &x509.Certificate{Raw: []byte("another")}
	here, remote := &net.UnixAddr{Name: "/s", Net: "unix"}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7}
	shows := func(pairs ...string) context.Context {
		return metadata.NewIncomingContext(connection(t, remote, nil), metadata.Pairs(pairs...))
	}
	authorities := []*x509.Certificate{ours}
	certificate := auth.TrustCertificate(func() []*x509.Certificate { return authorities })
	for _, c := range []struct {
		name  string
		trust auth.Trust
		ctx   context.Context
		want  bool
	}{
		{"the secret", auth.TrustSecret(secret), shows(auth.SecretKey, secret), true},
		{"another secret", auth.TrustSecret(secret), shows(auth.SecretKey, secret+" "), false},
		{"no secret", auth.TrustSecret(secret), shows(), false},
		{"an empty secret that is not shown", auth.TrustSecret(""), shows(), false},
		{"an empty secret", auth.TrustSecret(""), shows(auth.SecretKey, ""), false},
		{"an empty secret and another", auth.TrustSecret(""), shows(auth.SecretKey, "a", auth.SecretKey, ""), false},
		{"no metadata", auth.TrustSecret(""), t.Context(), false},
		{"the socket", auth.TrustUnixSocket, connection(t, here, nil), true},
		{"another host", auth.TrustUnixSocket, connection(t, remote, nil), false},
		{"no connection", auth.TrustUnixSocket, t.Context(), false},
		{"a certificate", certificate, connection(t, remote, ours), true},
		{"a certificate of another authority", certificate, connection(t, remote, other), false},
		{"no certificate", certificate, connection(t, remote, nil), false},
		{"no connection with a certificate", certificate, t.Context(), false},
		{"one of two", auth.TrustAny(auth.TrustUnixSocket, auth.TrustSecret(secret)), shows(auth.SecretKey, secret), true},
		{"none of two", auth.TrustAny(auth.TrustUnixSocket, auth.TrustSecret(secret)), shows(), false},
		{"none", auth.TrustAny(), connection(t, here, ours), false},
	} {
		if got := c.trust(c.ctx); got != c.want {
			t.Errorf("%s is trusted: %v", c.name, got)
		}
	}
	authorities = nil
	if certificate(connection(t, remote, ours)) {
		t.Error("a certificate of an authority that is no more is trusted")
	}
}

// What a caller's metadata says of its address and certificate is believed if an edge sends it.
func TestWhatACallerSaysOfItself(t *testing.T) {
	ctx := metadata.NewIncomingContext(connection(t, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7}, &x509.Certificate{Raw: []byte("ours")}),
		metadata.Pairs(auth.AddressKey, "192.0.2.7:1234", auth.CertificateKey, "dns:edge.example"))
	for _, c := range []struct {
		edge                 bool
		address, certificate string
	}{{true, "192.0.2.7", "dns:edge.example"}, {false, "10.0.0.1", "dns:client.example"}} {
		caller := call.Caller{Edge: c.edge}
		if got := auth.AddressOf(ctx, caller).String(); got != c.address {
			t.Errorf("edge: %v, the address is %s", c.edge, got)
		}
		if got := auth.CertificateOf(ctx, caller); !slices.Contains(got, c.certificate) || len(got) > 2 {
			t.Errorf("edge: %v, the names are %q", c.edge, got)
		}
	}
	if got := auth.CertificateOf(t.Context(), call.Caller{}); got != nil {
		t.Errorf("names of no certificate: %q", got)
	}
}
