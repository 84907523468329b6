package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
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
	// Authorities are those of each file, in the order of Files.
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
