package certs

import (
	"crypto/tls"
	"slices"
	"strings"
	"sync/atomic"
)

// Server returns the configuration of a listener that shows the source's certificates. If
// the source has authorities, clients are asked for a certificate; one that is shown must
// be of an authority, none need be. It serves TLS 1.2 and later, and of the protocols that
// base names (NextProtos) one is chosen. base is not kept.
func (s *Source) Server(base *tls.Config) *tls.Config {
	type made struct {
		of     *Contents
		config *tls.Config
	}
	base = base.Clone()
	var last atomic.Pointer[made]
	current := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		contents := s.Current()
		if m := last.Load(); m != nil && m.of == contents {
			return m.config, nil
		}
		config := base.Clone()
		config.Certificates = contents.Certificates
		config.GetCertificate = exactly(contents.Certificates)
		if contents.Pool != nil {
			config.ClientCAs, config.ClientAuth = contents.Pool, tls.VerifyClientCertIfGiven
		}
		last.Store(&made{contents, config})
		return config, nil
	}
	outer := base.Clone()
	outer.GetConfigForClient = current
	return outer
}

// exactly prefers the certificates that have the very name that a client asks for: crypto/tls
// takes the first that is good for the name, though it be by a wildcard. Without such a
// certificate crypto/tls decides.
func exactly(certificates []tls.Certificate) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if len(certificates) < 2 || hello.ServerName == "" {
			return nil, nil
		}
		for i := range certificates {
			named := slices.ContainsFunc(certificates[i].Leaf.DNSNames, func(name string) bool { return strings.EqualFold(name, hello.ServerName) })
			if named && hello.SupportsCertificate(&certificates[i]) == nil {
				return &certificates[i], nil
			}
		}
		return nil, nil
	}
}

// Client returns the configuration of one connection to a server, as of now: it is believed
// if it is of one of the source's authorities, or of the system's if no file of them is
// named, and shown the source's certificate if there is one.
func (s *Source) Client(base *tls.Config) *tls.Config {
	config, contents := base.Clone(), s.Current()
	config.Certificates, config.RootCAs = contents.Certificates, contents.Pool
	return config
}
