package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/genway/genway/test/conformance/authority"
)

// transportVariable says how the tests reach the JSON side: http1 (the default), http2,
// tls1 or tls2, which are HTTP/1.1 and HTTP/2 in cleartext and with TLS. The servers of
// all but the first two have a certificate.
const transportVariable = "GENWAY_TEST_TRANSPORT"

// transport is how the tests of this process reach the JSON side.
type transport struct {
	// certificate are the flags of a certificate; none in cleartext.
	certificate []string
	// authorities are those of the certificate; nil in cleartext.
	authorities *x509.CertPool
}

var through transport

// setTransport makes the default client of HTTP, which the SDKs use as well, one of the
// transport that is asked for. What it writes goes into a directory.
func setTransport(dir string) error {
	name := os.Getenv(transportVariable)
	client, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return errors.New("the default transport of HTTP is none of net/http's")
	}
	protocols := new(http.Protocols)
	switch name {
	case "", "http1":
		return nil
	case "http2":
		protocols.SetUnencryptedHTTP2(true)
	case "tls1":
		protocols.SetHTTP1(true)
	case "tls2":
		protocols.SetHTTP2(true)
		protocols.SetHTTP1(true) // ALPN prefers HTTP/2
	default:
		return fmt.Errorf("%s is http1, http2, tls1 or tls2, not %q", transportVariable, name)
	}
	client.Protocols = protocols
	if name == "http2" {
		return nil
	}
	ca, err := authority.New("conformance")
	if err != nil {
		return err
	}
	issued, err := ca.Issue(authority.Here)
	if err != nil {
		return err
	}
	cert, key, roots := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), filepath.Join(dir, "ca.pem")
	through.certificate = []string{"--http-cert", cert, "--http-key", key}
	through.authorities = ca.Pool()
	client.TLSClientConfig = &tls.Config{RootCAs: through.authorities}
	if name == "tls2" {
		// Clones of a transport, which SDKs make, share the array that net/http would write
		// to if either were missing.
		client.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	}
	// For clients with a transport of their own: the system's authorities are read once, when
	// they are needed.
	return errors.Join(issued.Write(cert, key), ca.Write(roots), os.Setenv("SSL_CERT_FILE", roots))
}

// encrypted returns the flags of an edge with the certificate of the tests, if they have one
// and the flags none of their own.
func (o Options) encrypted(flags []string) []string {
	if o.Cleartext || slices.Contains(flags, "--http-cert") {
		return flags
	}
	return slices.Concat(through.certificate, flags)
}

// HTTP1 returns a client that speaks HTTP/1.1 whatever the transport of the tests, for what
// HTTP/2 does not have and for listeners of metrics, which speak nothing else. Each call makes a connection.
func HTTP1() *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), DisableKeepAlives: true}
	transport.Protocols.SetHTTP1(true)
	if through.authorities != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: through.authorities}
	}
	return &http.Client{Transport: transport}
}
