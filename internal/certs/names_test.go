package certs_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"crypto/x509"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/certs/certtest"
)

// Names are subjectAltName's and the fingerprint, in the form in which keys have
// them; the subject's common name is none.
func TestNames(t *testing.T) {
	issued, _, _ := certtest.New(t, "ca").Issue(t, certtest.Names{DNS: []string{"A.Example"}, URIs: []string{"spiffe://a/b"}, Emails: []string{"Ada@Example.org"}})
	got := certs.Names(issued)
	if want := []string{"dns:a.example", "uri:spiffe://a/b", "email:Ada@example.org"}; !slices.Equal(got[1:], want) || !strings.HasPrefix(got[0], "sha256:") || len(got[0]) != 71 {
		t.Errorf("got %q", got)
	}
	for _, name := range got {
		if plain, err := keys.ParseCertificate(name); err != nil || plain != name {
			t.Errorf("%s: a key has it as %s, %v", name, plain, err)
		}
	}
}

// What cannot travel is left out: characters that metadata does not take, and too much.
func TestNamesAreBounded(t *testing.T) {
	got := certs.Names(&x509.Certificate{DNSNames: []string{"a b", "a\r\nx: y", "\u00fc", "", "ok"}, EmailAddresses: []string{"none"}, URIs: []*url.URL{{Opaque: strings.Repeat("a", 9000), Scheme: "x"}}})
	if want := []string{"dns:ok"}; !slices.Equal(got[1:], want) && !slices.Equal(got[1:], []string{"dns:ok", "email:none"}) {
		t.Errorf("got %q", got)
	}
	var many []string
	for range 10_000 {
		many = append(many, "name.example")
	}
	size := 0
	for _, name := range certs.Names(&x509.Certificate{DNSNames: many}) {
		size += len(name)
	}
	if size > 9<<10 {
		t.Errorf("%d bytes of names", size)
	}
}
