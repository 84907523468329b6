// Package certs reads TLS certificates, their keys and authorities from PEM files, follows
// the files, and warns of certificates before they expire.
//
// Connections that are open keep what they were made with; new ones get what the files say
// now. It must import nothing of ours but internal/stamp, since the edge and the core both
// use it.
package certs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/internal/stamp"
)

// Files are those that one side of TLS is made from.
type Files struct {
	// Pairs are the side's own certificates. A server with several shows the first that
	// has the name that the client asks for (SNI), else the first that is good for it by a
	// wildcard, else the first of all.
	Pairs []Pair
	// Authorities are files with certificates of authorities: all that is signed by one
	// of them is believed.
	Authorities []string
}

// Contents is what the files held when they were read last and all were good. It is never
// written to.
type Contents struct {
	Certificates []tls.Certificate
	// Authorities are the authorities of each file, in the order of Files.
	Authorities [][]*x509.Certificate
	// Pool has all authorities; nil if no file was named.
	Pool *x509.CertPool
}

// Source is a set of files that are followed.
type Source struct {
	files   Files
	current atomic.Pointer[Contents]

	// What follows belongs to the goroutine of Follow.
	seen   string // the stamp of the files that were read last, good or bad
	failed error  // of that reading, until it is logged
	expiry Expiry
}

// Open reads the files. The error names the file at fault. Follow has to be called for
// changes to take effect.
func Open(files Files) (*Source, error) {
	s := &Source{files: files, seen: stamp.Of(files.names()...)}
	contents, err := files.read()
	if err != nil {
		return nil, err
	}
	s.current.Store(contents)
	return s, nil
}

// Current returns what the files hold. It may be called at any time.
func (s *Source) Current() *Contents { return s.current.Load() }

func (f Files) names() []string {
	var names []string
	for _, pair := range f.Pairs {
		names = append(names, pair.Cert, pair.Key)
	}
	return append(names, f.Authorities...)
}

func (f Files) read() (*Contents, error) {
	contents := &Contents{}
	for _, pair := range f.Pairs {
		certificate, err := pair.Read()
		if err != nil {
			return nil, err
		}
		contents.Certificates = append(contents.Certificates, certificate)
	}
	if len(f.Authorities) > 0 {
		contents.Pool = x509.NewCertPool()
	}
	for _, file := range f.Authorities {
		list, err := ReadAuthorities(file)
		if err != nil {
			return nil, err
		}
		for _, authority := range list {
			contents.Pool.AddCert(authority)
		}
		contents.Authorities = append(contents.Authorities, list)
	}
	return contents, nil
}

// lookEvery is how often the files are looked at. The system's word on changes is not
// waited for: it does not come from network file systems, and the files of a side may be in
// several directories, some of them behind links.
const lookEvery = time.Second

// Follow reads the files of sources again whenever they change, until ctx ends. Files that
// are bad change nothing; the log says so once for each state of the files. The log also
// warns of certificates that expire within 14 days, at first and once a day.
func Follow(ctx context.Context, log *slog.Logger, sources ...*Source) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		for _, s := range sources {
			s.refresh(log)
			s.expiry.Warn(log, s.leaves(), time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// refresh reads the files if they have changed. A certificate and its key are two files,
// which are replaced one after the other: what is wrong is logged only if it is still so
// when the files are looked at again.
func (s *Source) refresh(log *slog.Logger) {
	now := stamp.Of(s.files.names()...) // taken first: what changes while it is read is read again
	if now == s.seen {
		if s.failed != nil {
			log.Error("certificates cannot be read again; the old ones stay", "error", s.failed)
			s.failed = nil
		}
		return
	}
	s.seen = now
	contents, err := s.files.read()
	if s.failed = err; err != nil {
		return
	}
	s.current.Store(contents)
	s.expiry = Expiry{}
	log.Info("certificates were read again", "files", s.files.names())
}

func (s *Source) leaves() map[string]*x509.Certificate {
	leaves := make(map[string]*x509.Certificate, len(s.files.Pairs))
	for i, c := range s.Current().Certificates {
		leaves[s.files.Pairs[i].Cert] = c.Leaf
	}
	for i, list := range s.Current().Authorities {
		for _, authority := range list {
			if first, ok := leaves[s.files.Authorities[i]]; !ok || authority.NotAfter.Before(first.NotAfter) {
				leaves[s.files.Authorities[i]] = authority
			}
		}
	}
	return leaves
}

// A Pair is a file with a certificate, the certificates of its issuers after it, and a
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
// if one of the source's authorities signed it, or one of the system's if no file of them is
// named, and shown the source's certificate if there is one.
func (s *Source) Client(base *tls.Config) *tls.Config {
	config, contents := base.Clone(), s.Current()
	config.Certificates, config.RootCAs = contents.Certificates, contents.Pool
	return config
}

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

// First returns when the first of certificates ends; false for none.
func First(leaves map[string]*x509.Certificate) (time.Time, bool) {
	var first time.Time
	for _, leaf := range leaves {
		if leaf != nil && (first.IsZero() || leaf.NotAfter.Before(first)) {
			first = leaf.NotAfter
		}
	}
	return first, !first.IsZero()
}

// First returns when the first of the files' certificates ends; false for none and for a nil
// Source.
func (s *Source) First() (time.Time, bool) {
	if s == nil {
		return time.Time{}, false
	}
	return First(s.leaves())
}

const (
	// soon is how long before its end a certificate is warned of: shorter than the time in
	// which ACME certificates are renewed, so that a warning says that renewal has failed.
	soon = 14 * 24 * time.Hour
	// warnEvery is how often a warning is repeated.
	warnEvery = 24 * time.Hour
)

// Expiry warns of certificates that end. The zero value has warned of none.
type Expiry struct{ warned time.Time }

// Warn logs the certificates that are no longer good, not yet, or not for long, by the
// files that they are in; what it has logged, it logs again after a day.
func (e *Expiry) Warn(log *slog.Logger, leaves map[string]*x509.Certificate, now time.Time) {
	if !e.warned.IsZero() && now.Sub(e.warned) < warnEvery {
		return
	}
	e.warned = now
	for _, file := range slices.Sorted(maps.Keys(leaves)) {
		leaf := leaves[file]
		attributes := []any{"file", file, "certificate", Subject(leaf), "not_before", leaf.NotBefore.UTC(), "not_after", leaf.NotAfter.UTC()}
		switch {
		case now.After(leaf.NotAfter):
			log.Warn("a certificate has expired", attributes...)
		case now.Before(leaf.NotBefore):
			log.Warn("a certificate is not valid yet", attributes...)
		case leaf.NotAfter.Sub(now) < soon:
			log.Warn("a certificate expires soon", attributes...)
		default:
			log.Debug("a certificate is good", attributes...)
		}
	}
}
