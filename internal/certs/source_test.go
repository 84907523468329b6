package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/certs/certtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// follow has a source followed until the test ends, and returns what is logged.
func follow(t *testing.T, s *certs.Source) *logged {
	t.Helper()
	log := &logged{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		certs.Follow(ctx, slog.New(slog.NewTextHandler(log, nil)), s)
	}()
	t.Cleanup(func() { stop(); <-done })
	return log
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A file of authorities that is written at this moment, or that a full disk has cut off, does not take away
// the authorities that it does not have yet.
func TestHalfAFileOfAuthorities(t *testing.T) {
	first, second := certtest.New(t, "first"), certtest.New(t, "second")
	file := filepath.Join(t.TempDir(), "ca.pem")
	both := append(first.PEM(), second.PEM()...)
	certtest.Write(t, file, both)
	source, err := certs.Open(certs.Files{Authorities: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	log := follow(t, source)
	certtest.Write(t, file, both[:len(both)-100])
	until(t, "the file is refused", func() bool {
		return strings.Contains(log.String(), "the old ones stay") || len(source.Current().Authorities[0]) != 2
	})
	if n := len(source.Current().Authorities[0]); n != 2 {
		t.Errorf("%d authorities are left of 2; log:\n%s", n, log)
	}
}

// until waits for something to come about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come about", what)
		}
	}
}

// leaf is the certificate that a source shows first.
func leaf(s *certs.Source) []byte { return s.Current().Certificates[0].Leaf.Raw }

// Files that are replaced take effect; files that are bad keep what was there and are
// logged once.
func TestFilesAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := certtest.New(t, "ca")
	pair := authority.Files(t, dir, "a", certtest.Names{})
	s, err := certs.Open(certs.Files{Pairs: []certs.Pair{pair}, Authorities: []string{authority.File(t, dir, "ca.pem")}})
	if err != nil {
		t.Fatal(err)
	}
	log := follow(t, s)
	old := leaf(s)
	authority.Files(t, dir, "a", certtest.Names{})
	until(t, "new certificate", func() bool { return !bytes.Equal(leaf(s), old) })
	if strings.Contains(log.String(), "cannot be read") {
		t.Errorf("two files that were replaced one after the other:\n%s", log)
	}
	old = leaf(s)
	certtest.Write(t, pair.Cert, []byte("half a certi"))
	until(t, "complaint", func() bool { return strings.Contains(log.String(), "a.pem: no certificate in it") })
	other := certtest.New(t, "other")
	other.File(t, dir, "ca.pem") // the files are taken together: it waits for the certificate
	if !bytes.Equal(leaf(s), old) || len(s.Current().Certificates) != 1 {
		t.Error("a bad file changed something")
	}
	other.Files(t, dir, "a", certtest.Names{})
	until(t, "repair", func() bool { return slices.ContainsFunc(s.Current().Authorities[0], other.Certificate.Equal) })
	if _, err := s.Current().Certificates[0].Leaf.Verify(x509.VerifyOptions{Roots: s.Current().Pool}); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n > 2 { // that of the certificate, that of the new authority
		t.Errorf("%d errors:\n%s", n, log)
	}
}

// Kubernetes mounts a volume as links through a link, and replaces that.
func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := certtest.New(t, "ca")
	version := func(name string) {
		sub := filepath.Join(dir, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		authority.Files(t, sub, "tls", certtest.Names{})
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..one")
	pair := certs.Pair{Cert: filepath.Join(dir, "tls.pem"), Key: filepath.Join(dir, "tls.key")}
	for _, file := range []string{pair.Cert, pair.Key} {
		if err := os.Symlink(filepath.Join("..data", filepath.Base(file)), file); err != nil {
			t.Fatal(err)
		}
	}
	s, err := certs.Open(certs.Files{Pairs: []certs.Pair{pair}})
	if err != nil {
		t.Fatal(err)
	}
	log := follow(t, s)
	old := leaf(s)
	version("..two")
	until(t, "new version", func() bool { return !bytes.Equal(leaf(s), old) })
	if err := os.RemoveAll(filepath.Join(dir, "..one")); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("%s", log)
	}
}

// The log warns of what has ended or soon will, naming the file.
func TestExpiryIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := certtest.New(t, "ca")
	pairs := []certs.Pair{
		authority.Files(t, dir, "good", certtest.Names{}),
		authority.Files(t, dir, "soon", certtest.Names{DNS: []string{"soon.example"}, Until: time.Now().Add(13 * 24 * time.Hour)}),
		authority.Files(t, dir, "over", certtest.Names{DNS: []string{"over.example"}, Until: time.Now().Add(-time.Hour)}),
	}
	s, err := certs.Open(certs.Files{Pairs: pairs})
	if err != nil {
		t.Fatal(err)
	}
	log := follow(t, s)
	until(t, "warnings", func() bool { return strings.Contains(log.String(), "soon.pem") })
	for _, want := range []string{"a certificate has expired\" file=" + pairs[2].Cert + " certificate=over.example", "a certificate expires soon\" file=" + pairs[1].Cert + " certificate=soon.example"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), "good.pem") {
		t.Errorf("%s", log)
	}
}

// A session that is resumed is held to the authorities of now: a client whose authority was
// removed gets no further by a ticket from before.
func TestResumedSessionsAreHeldToNewAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, other := certtest.New(t, "ca"), certtest.New(t, "other")
	pair := authority.Files(t, dir, "server", certtest.Names{})
	s, err := certs.Open(certs.Files{Pairs: []certs.Pair{pair}, Authorities: []string{authority.File(t, dir, "clients.pem")}})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, s)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", s.Server(&tls.Config{MinVersion: tls.VersionTLS12}))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					return
				}
				known := "n"
				if server, ok := conn.(*tls.Conn); ok && len(server.ConnectionState().VerifiedChains) > 0 {
					known = "y"
				}
				_, _ = conn.Write([]byte(known))
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	mine, err := authority.Files(t, dir, "client", certtest.Names{}).Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		authority.File(t, dir, "clients.pem")
		until(t, "the authority", func() bool { return slices.ContainsFunc(s.Current().Authorities[0], authority.Certificate.Equal) })
		client := &tls.Config{RootCAs: authority.Pool(), Certificates: []tls.Certificate{mine}, ClientSessionCache: tls.NewLRUClientSessionCache(1), ServerName: "localhost", MinVersion: version, MaxVersion: version}
		call := func() (resumed, known bool) {
			raw, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			conn := tls.Client(raw, client)
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 1)
			if n, err := conn.Read(answer); n != 1 { // the end of the connection may have come with it
				t.Fatal(err)
			}
			return conn.ConnectionState().DidResume, answer[0] == 'y'
		}
		if resumed, known := call(); resumed || !known {
			t.Fatalf("%s: first: resumed %v, known %v", name, resumed, known)
		}
		if resumed, known := call(); !resumed || !known {
			t.Fatalf("%s: second: resumed %v, known %v", name, resumed, known)
		}
		other.File(t, dir, "clients.pem")
		until(t, "the other authority", func() bool { return slices.ContainsFunc(s.Current().Authorities[0], other.Certificate.Equal) })
		if resumed, known := call(); known {
			t.Errorf("%s: a client of an authority that was removed is known, resumed: %v", name, resumed)
		}
	}
}
