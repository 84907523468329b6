package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/internal/certs"
)

// NoProxy is the proxy that is none.
const NoProxy = "none"

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// checkTransport demands that the way to the upstream is one.
func (u Upstream) checkTransport(all *checks, at string) {
	if u.Proxy != "" && u.Proxy != NoProxy {
		proxy, err := url.Parse(u.Proxy)
		if err != nil || proxy.Host == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
			// The address may hold a password, so it is not repeated.
			all.wrongf(at+".proxy", "expected none, or %s://host:port", strings.Join(proxySchemes, "://, "))
		} else if wrong := badHost(proxy); wrong != "" {
			all.wrongf(at+".proxy", "%s", wrong)
		}
	}
	for _, s := range []struct{ key, file, needs, other string }{
		{"ca_file", u.CAFile, "", ""}, {"cert_file", u.CertFile, "key_file", u.KeyFile}, {"key_file", u.KeyFile, "cert_file", u.CertFile},
	} {
		if s.file == "" {
			continue
		}
		switch {
		case !u.encrypted() && u.Kind == "generation":
			all.wrongf(at+"."+s.key, "it takes effect with tls: true only")
		case !u.encrypted():
			all.wrongf(at+"."+s.key, "it takes effect with a base_url of https:// only")
		case s.needs != "" && s.other == "":
			all.wrongf(at+"."+s.key, "%s is missing", s.needs)
		}
	}
}

// encrypted reports whether connections to the upstream use TLS.
func (u Upstream) encrypted() bool {
	return u.TLS || strings.HasPrefix(strings.ToLower(u.BaseURL), "https:")
}

// checkCertificates reads the files that checkTransport has no objection to.
func (u Upstream) checkCertificates(all *checks, at string) {
	if !u.encrypted() || (u.CertFile == "") != (u.KeyFile == "") {
		return
	}
	if _, err := u.TLSConfig(); err != nil {
		key := "ca_file"
		if e := (*certificateError)(nil); errors.As(err, &e) {
			key = "cert_file"
		}
		all.add(strict.Because(err, at+"."+key, "%v", err))
	}
}

// certificateError is of the client certificate.
type certificateError struct{ error }

// TLSConfig returns how connections to the upstream are encrypted, as far as the file
// says; the files it names are read.
func (u Upstream) TLSConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.CAFile != "" {
		authorities, err := certs.ReadAuthorities(u.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		for _, authority := range authorities {
			config.RootCAs.AddCert(authority)
		}
	}
	if u.CertFile != "" {
		pair, err := certs.Pair{Cert: u.CertFile, Key: u.KeyFile}.Read()
		if err != nil {
			return nil, &certificateError{err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
