package certs_test

import (
	"crypto/tls"
	"net"
	"slices"
	"testing"

	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/certs/certtest"
)

// A certificate of exactly the name that a client asks for is preferred to one with a
// wildcard, in whichever order the files are named. Other names get the first that is good
// for them, and the first of all if none is.
func TestExactNamesComeFirst(t *testing.T) {
	dir, authority := t.TempDir(), certtest.New(t, "ca")
	first := authority.Files(t, dir, "first", certtest.Names{DNS: []string{"first.test"}})
	wild := authority.Files(t, dir, "wild", certtest.Names{DNS: []string{"*.example.test", "example.test"}})
	exact := authority.Files(t, dir, "exact", certtest.Names{DNS: []string{"other.test", "API.example.test"}})
	for _, order := range [][]certs.Pair{{first, wild, exact}, {first, exact, wild}} {
		source, err := certs.Open(certs.Files{Pairs: order})
		if err != nil {
			t.Fatal(err)
		}
		config := source.Server(&tls.Config{MinVersion: tls.VersionTLS12})
		for name, want := range map[string]string{
			"api.example.test": "other.test", "API.EXAMPLE.TEST": "other.test", "www.example.test": "*.example.test",
			"example.test": "*.example.test", "a.b.example.test": "first.test", "unknown.test": "first.test", "": "first.test",
		} {
			if got := shown(t, config, name); !slices.Contains(got, want) {
				t.Errorf("%s gets %s, want %s; the files are %v", name, got, want, order)
			}
		}
	}
}

// shown returns the names of the certificate that a client gets who asks for a name.
func shown(t *testing.T, config *tls.Config, name string) []string {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- tls.Server(server, config).HandshakeContext(t.Context()) }()
	conn := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_, _ = client.Close(), server.Close()
	return conn.ConnectionState().PeerCertificates[0].DNSNames
}
