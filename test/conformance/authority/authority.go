// Package authority makes authorities and certificates for the tests, as files that the
// programs take.
//
// It must not import the gateway's own packages.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Names are what a certificate is for.
type Names struct {
	DNS, Emails, URIs []string
	IPs               []string
	// Until is when the certificate ends; zero is in a year.
	Until time.Time
}

// Here are the names of a server on this machine.
var Here = Names{DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}}

// Issued is a certificate with its key.
type Issued struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// New makes an authority.
func New(name string) (*Authority, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	made, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: made.Certificate, key: made.key}, nil
}

// Issue makes a certificate for servers and clients.
func (a *Authority) Issue(names Names) (*Issued, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "leaf"}, NotAfter: names.Until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    names.DNS, EmailAddresses: names.Emails,
	}
	if names.Until.IsZero() {
		template.NotAfter = time.Now().AddDate(1, 0, 0)
	}
	for _, text := range names.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(text))
	}
	for _, text := range names.URIs {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		template.URIs = append(template.URIs, u)
	}
	return sign(template, a)
}

// Pool has only the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Write writes the authority's certificate to a file.
func (a *Authority) Write(file string) error {
	return replace(file, "CERTIFICATE", a.certificate.Raw)
}

// Write writes the certificate to a file, and its key to another.
func (i *Issued) Write(cert, key string) error {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		return err
	}
	return errors.Join(replace(cert, "CERTIFICATE", i.Raw), replace(key, "PRIVATE KEY", der))
}

// TLS is the certificate as clients show it.
func (i *Issued) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{i.Raw}, PrivateKey: i.key, Leaf: i.Certificate}
}

// Fingerprint is the SHA-256 of the certificate in hexadecimal digits.
func (i *Issued) Fingerprint() string {
	sum := sha256.Sum256(i.Raw)
	return hex.EncodeToString(sum[:])
}

// replace writes a file as programs that renew certificates do: at once.
func replace(file, kind string, der []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// sign makes a certificate; without an authority one that signs itself.
func sign(template *x509.Certificate, by *Authority) (*Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-48 * time.Hour)
	if by == nil {
		by = &Authority{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Issued{Certificate: certificate, key: key}, err
}
