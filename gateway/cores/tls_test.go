package cores

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/genway/genway/internal/target"
)

// Each core's certificate is checked against the host of its own target.
func TestCertificates(t *testing.T) {
	borrowed := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1, and not for localhost
	defer borrowed.Close()
	authority := x509.NewCertPool()
	authority.AddCert(borrowed.Certificate())
	serve := func() *fakeCore {
		c := newCore(grpc.Creds(credentials.NewServerTLSFromCert(&borrowed.TLS.Certificates[0])))
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.target = listener.Addr().String()
		go func() { _ = c.server.Serve(listener) }()
		t.Cleanup(c.server.Stop)
		return c
	}
	one, other, misnamed := serve(), serve(), serve()
	_, port, err := net.SplitHostPort(misnamed.target)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := target.ParseAll([]string{one.target, "dns:///" + other.target, "localhost:" + port})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := Dial(targets, slog.New(slog.DiscardHandler), credentials.NewTLS(&tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS13}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	both(t, conn, one, other)
	if n := misnamed.calls.Load(); n > 0 {
		t.Errorf("%d calls came to a core whose certificate is for another name", n)
	}
}
