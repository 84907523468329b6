// Package certtest makes authorities and certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/internal/certs"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Names are what a certificate is for. Without any it is for 127.0.0.1 and localhost.
type Names struct {
	DNS, Emails, URIs []string
	// Until is when the certificate ends; zero is in a year.
	Until time.Time
}

// New makes an authority.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: serial(tb), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &Authority{key: newKey(tb)}
	a.Certificate = sign(tb, template, template, a.key, a.key)
	return a
}

// Issue makes a certificate, for servers and clients.
func (a *Authority) Issue(tb testing.TB, names Names) (certificate *x509.Certificate, certPEM, keyPEM []byte) {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: serial(tb), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: names.Until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: names.DNS, EmailAddresses: names.Emails,
	}
	for _, text := range names.URIs {
		u, err := url.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	if len(names.DNS)+len(names.Emails)+len(names.URIs) == 0 {
		template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().AddDate(1, 0, 0)
	}
	key := newKey(tb)
	certificate = sign(tb, template, a.Certificate, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate, encode("CERTIFICATE", certificate.Raw), encode("PRIVATE KEY", der)
}

// Files writes a certificate and its key into a directory, as NAME.pem and NAME.key.
func (a *Authority) Files(tb testing.TB, dir, name string, names Names) certs.Pair {
	tb.Helper()
	_, certPEM, keyPEM := a.Issue(tb, names)
	pair := certs.Pair{Cert: filepath.Join(dir, name+".pem"), Key: filepath.Join(dir, name+".key")}
	Write(tb, pair.Cert, certPEM)
	Write(tb, pair.Key, keyPEM)
	return pair
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.Certificate.Raw) }

// File writes it into a directory.
func (a *Authority) File(tb testing.TB, dir, name string) string {
	tb.Helper()
	file := filepath.Join(dir, name)
	Write(tb, file, a.PEM())
	return file
}

// Pool has only the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	return pool
}

// Write replaces a file at once, as programs that renew certificates do.
func Write(tb testing.TB, file string, text []byte) {
	tb.Helper()
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		tb.Fatal(err)
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func serial(tb testing.TB) *big.Int {
	tb.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func sign(tb testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}
