package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
)

// maxNames bounds the names of one certificate, in bytes: they travel with each call.
const maxNames = 8 << 10

// Names returns the names by which a certificate is recognised: its fingerprint (sha256:HEX), and the
// names of its subjectAltName (dns:NAME, uri:URI, email:ADDRESS), domains in lower case.
// Its subject is no name (RFC 9525, section 2). Names with characters other than visible
// ASCII are left out, as are those beyond 8 KiB.
func Names(c *x509.Certificate) []string {
	sum := sha256.Sum256(c.Raw)
	names := make([]string, 1, 1+len(c.DNSNames)+len(c.URIs)+len(c.EmailAddresses))
	names[0] = "sha256:" + hex.EncodeToString(sum[:])
	left := maxNames
	add := func(kind, name string) {
		left -= len(kind) + len(name)
		if left >= 0 && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			names = append(names, kind+name)
		}
	}
	for _, name := range c.DNSNames {
		add("dns:", strings.ToLower(name))
	}
	for _, uri := range c.URIs {
		add("uri:", uri.String())
	}
	for _, address := range c.EmailAddresses {
		add("email:", lowerDomain(address))
	}
	return names
}

// lowerDomain returns an email address with its domain in lower case; what is before the @
// may differ by case (RFC 5321, section 2.4).
func lowerDomain(address string) string {
	at := strings.LastIndexByte(address, '@')
	return address[:at+1] + strings.ToLower(address[at+1:])
}
