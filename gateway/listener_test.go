package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/gateway"
	"github.com/genway/genway/internal/connections"
)

// encryptedServer is a server over TLS that tells how it was asked. It returns how to connect to it, and the reasons of
// connections that were ended.
func encryptedServer(t *testing.T) (address string, client *tls.Config, reasons chan string) {
	t.Helper()
	own := selfSigned(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reasons = make(chan string, 100)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error)
	go func() {
		served <- gateway.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s %v", r.Proto, r.TLS != nil && r.TLS.HandshakeComplete)
		}), gateway.ServerConfig{
			Grace:   -1,
			TLS:     &tls.Config{Certificates: own.TLS.Certificates, NextProtos: gateway.NextProtos(), ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: x509.NewCertPool()},
			Notices: connections.NewNotices(slog.New(slog.DiscardHandler), "http", func(_, reason string) { reasons <- reason }),
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	client = own.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName = "example.com"
	return l.Addr().String(), client, reasons
}

// selfSigned is a server that has a certificate and does not serve.
func selfSigned(t *testing.T) *httptest.Server {
	t.Helper()
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	own.Close()
	return own
}

// withOwn shows the server a certificate of an authority that it does not know.
func withOwn(t *testing.T, config *tls.Config) *tls.Config {
	t.Helper()
	own := selfSigned(t)
	config = config.Clone()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &own.TLS.Certificates[0], nil
	}
	return config
}

// Both versions of HTTP are served over TLS, and their handlers see how the connection is encrypted.
func TestTLS(t *testing.T) {
	address, config, _ := encryptedServer(t)
	for want, h2 := range map[string]bool{"HTTP/1.1 true": false, "HTTP/2.0 true": true} {
		transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: h2}
		answer, err := (&http.Client{Transport: transport}).Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
	}
}

// A client whose certificate is refused learns it, although it has begun to send its request: with TLS 1.3 its
// handshake is over before the server has looked at the certificate.
func TestARefusedCertificateIsNamed(t *testing.T) {
	address, config, _ := encryptedServer(t)
	config = withOwn(t, config)
	for range 20 {
		conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if _, err := conn.Write(make([]byte, 8<<10)); err != nil {
				t.Fatalf("the server does not take the request: %v", err)
			}
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "unknown certificate authority") {
			t.Errorf("the client is told: %v", err)
		}
		_ = conn.Close()
	}
}

// A handshake that fails is counted by its reason, a request in clear text among them, and a connection on which nothing
// comes is none.
func TestFailedHandshakesAreCounted(t *testing.T) {
	address, config, reasons := encryptedServer(t)
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	_ = dial().Close()
	plain := dial()
	_, _ = io.WriteString(plain, last)
	if line, err := bufio.NewReader(plain).ReadString('\n'); err != nil || !strings.Contains(line, " 400 ") {
		t.Errorf("a request in clear text: %q, %v", line, err)
	}
	_ = plain.Close()
	strange := config.Clone()
	strange.RootCAs = x509.NewCertPool()
	if err := tls.Client(dial(), strange).Handshake(); err == nil {
		t.Fatal("the client does not mind the certificate")
	}
	refused := tls.Client(dial(), withOwn(t, config))
	_, _ = refused.Read(make([]byte, 1))
	_ = refused.Close()
	got := []string{<-reasons, <-reasons, <-reasons}
	slices.Sort(got)
	if want := []string{"client-certificate", "handshake", "handshake"}; !slices.Equal(got, want) || len(reasons) > 0 {
		t.Errorf("%q and %d more, want %q", got, len(reasons), want)
	}
}

// Handshakes that do not come to an end hold up no other.
func TestHandshakesApart(t *testing.T) {
	address, config, _ := encryptedServer(t)
	for range 20 {
		silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = silent.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// A flood of HTTP/2 is ended over TLS as it is without.
func TestFloodsOverTLS(t *testing.T) {
	address, config, reasons := encryptedServer(t)
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		ended <- err
	}()
	settings, ping := "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := io.WriteString(conn, strings.Repeat(ping, 100)); err != nil {
			break // The server has closed the connection; the kernel may also take every byte that it will not read.
		}
	}
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("100,000 pings were answered")
	}
	if reason := <-reasons; reason != "flood" {
		t.Errorf("it was ended for %s", reason)
	}
}
