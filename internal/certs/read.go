package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Pair is a file with a certificate, the certificates of its issuers behind it, and a
// file with its key.
type Pair struct{ Cert, Key string }

// Read reads a certificate and its key. The error names the file at fault and says what is
// wrong with it; it never holds anything of a key.
func (p Pair) Read() (tls.Certificate, error) {
	certPEM, err := os.ReadFile(p.Cert)
	if err != nil {
		return tls.Certificate{}, err //nolint:wrapcheck // it names the file
	}
	keyPEM, err := os.ReadFile(p.Key)
	if err != nil {
		return tls.Certificate{}, err //nolint:wrapcheck // it names the file
	}
	chain, err := parse(p.Cert, certPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := checkKey(p.Key, keyPEM); err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	switch {
	case err == nil:
		pair.Leaf = chain[0]
		return pair, nil
	case strings.Contains(err.Error(), "does not match"):
		return tls.Certificate{}, fmt.Errorf("%s: the key does not belong to the first certificate in %s (%s)", p.Key, p.Cert, Subject(chain[0]))
	}
	return tls.Certificate{}, fmt.Errorf("%s: no private key that can be used: %s", p.Key, strings.TrimPrefix(err.Error(), "tls: "))
}

// ReadAuthorities reads a file with certificates of authorities. The error names the file.
func ReadAuthorities(file string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	return parse(file, text)
}

// begin is how each PEM block begins, at the beginning of a line.
const begin = "-----BEGIN "

// parse returns the certificates of a file: at least one. A file with a block that is damaged or without its
// end is refused as a whole. encoding/pem passes over such blocks, so that a file which is being written, or
// which a full disk has cut off, would lose the authorities or issuers at its end.
func parse(file string, text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	var other string
	var whole int
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		whole++
		if block.Type != "CERTIFICATE" {
			other = block.Type
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d in it is malformed: %s", file, len(list)+1, strings.TrimPrefix(err.Error(), "x509: "))
		}
		list = append(list, certificate)
	}
	begun := bytes.Count(text, []byte("\n"+begin))
	if bytes.HasPrefix(text, []byte(begin)) {
		begun++
	}
	switch {
	case len(list) > 0 && whole < begun:
		return nil, fmt.Errorf("%s: only %d of the %d PEM blocks in it are whole; write the file again", file, whole, begun)
	case len(list) > 0:
		return list, nil
	case strings.HasSuffix(other, "PRIVATE KEY"):
		return nil, fmt.Errorf("%s: no certificate in it, but a private key", file)
	}
	return nil, fmt.Errorf("%s: no certificate in it; expected PEM, which begins with -----BEGIN CERTIFICATE-----", file)
}

// checkKey finds what keeps a file from holding a key that can be used.
func checkKey(file string, text []byte) error {
	found := errors.New("no private key in it; expected PEM, which begins with -----BEGIN PRIVATE KEY-----")
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return fmt.Errorf("%s: %w", file, found)
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return fmt.Errorf("%s: the private key is encrypted with a password; keep it unencrypted in a file that only the server's user can read", file)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return nil
		case block.Type == "CERTIFICATE":
			found = errors.New("no private key in it, but a certificate")
		}
	}
}

// Subject names a certificate for people: its first name, or its subject.
func Subject(c *x509.Certificate) string {
	switch {
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	case len(c.URIs) > 0:
		return c.URIs[0].String()
	case len(c.IPAddresses) > 0:
		return c.IPAddresses[0].String()
	case len(c.EmailAddresses) > 0:
		return c.EmailAddresses[0]
	}
	return c.Subject.String()
}
