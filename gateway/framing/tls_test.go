package framing_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/gateway/framing"
	"go.uber.org/goleak"
)

// TestMain lets net/http finish the half second for which it keeps a connection after an error,
// which may begin as the last test ends and is longer than goleak waits.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

type stateKey struct{}

// encryptedServer tells how it was asked, and refuses what is marked as ambiguous.
func encryptedServer(t *testing.T, change ...func(*tls.Config)) (address string, client *tls.Config) {
	t.Helper()
	return encryptedServerOf(t, framing.Config{}, change...)
}

func encryptedServerOf(t *testing.T, how framing.Config, change ...func(*tls.Config)) (address string, client *tls.Config) {
	t.Helper()
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	certificates.Close()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(framing.Header) != "" {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusBadRequest)
		}
		state, _ := r.Context().Value(stateKey{}).(*tls.ConnectionState)
		_, _ = fmt.Fprintf(w, "%s %v", r.Proto, state != nil && state.HandshakeComplete)
	}), Protocols: new(http.Protocols), ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		if conn, ok := c.(*framing.Conn); ok {
			return context.WithValue(ctx, stateKey{}, conn.TLS())
		}
		return ctx
	}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	config := certificates.TLS.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	for _, change := range change {
		change(config)
	}
	served := make(chan error)
	go func() { served <- server.Serve(framing.NewTLSListener(l, config, time.Minute, how)) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	client = certificates.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName = "example.com"
	return l.Addr().String(), client
}

// Over TLS, too, requests whose end is ambiguous are found, and HTTP/2 is served.
func TestTLS(t *testing.T) {
	address, config := encryptedServer(t)
	for _, h2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: h2}
		answer, err := (&http.Client{Transport: transport}).Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if want := map[bool]string{false: "HTTP/1.1 true", true: "HTTP/2.0 true"}[h2]; err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+get); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || strings.Count(string(got), "\r\n\r\n") != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// A client whose certificate is refused learns it, although it has begun to send its request: with TLS 1.3 its
// handshake is over before the server has looked at the certificate.
func TestARefusedCertificateIsNamed(t *testing.T) {
	address, config := encryptedServer(t, func(server *tls.Config) {
		server.ClientAuth, server.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	})
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	own.Close()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &own.TLS.Certificates[0], nil
	}
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

// A handshake that fails is counted by its reason, and a connection on which nothing comes is none.
func TestFailedHandshakesAreCounted(t *testing.T) {
	reasons := make(chan string, 10)
	address, config := encryptedServerOf(t, framing.Config{Ended: func(reason string, _ net.Addr) { reasons <- reason }}, func(server *tls.Config) {
		server.ClientAuth, server.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	})
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	_ = dial().Close()
	garbage := dial()
	_, _ = io.WriteString(garbage, "no handshake\r\n")
	_, _ = io.Copy(io.Discard, garbage)
	_ = garbage.Close()
	strange := config.Clone()
	strange.RootCAs = x509.NewCertPool()
	if err := tls.Client(dial(), strange).Handshake(); err == nil {
		t.Fatal("the client does not mind the certificate")
	}
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	own.Close()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &own.TLS.Certificates[0], nil
	}
	refused := tls.Client(dial(), config)
	_, _ = refused.Read(make([]byte, 1))
	_ = refused.Close()
	got := []string{<-reasons, <-reasons, <-reasons}
	slices.Sort(got)
	if want := []string{framing.ClientCertificate, framing.Handshake, framing.Handshake}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, _ = (&http.Client{Transport: &http.Transport{TLSClientConfig: strange}}).Get("https://" + address)
	if reason := <-reasons; reason != framing.Handshake {
		t.Errorf("%s", reason)
	}
}

// A handshake that does not come to an end holds up no other, and ends with the listener;
// one that speaks no TLS gets an error that says so.
func TestHandshakesApart(t *testing.T) {
	address, config := encryptedServer(t)
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
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = io.WriteString(plain, get)
	if line, err := bufio.NewReader(plain).ReadString('\n'); err != nil || !strings.Contains(line, " 400 ") {
		t.Errorf("%q, %v", line, err)
	}
}

// A flood of HTTP/2 is ended over TLS as it is without; that of a proxy is its callers'.
func TestFloodsOverTLS(t *testing.T) {
	address, config := encryptedServer(t)
	config = config.Clone()
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
	if _, err := io.WriteString(conn, http2Preface+settings); err != nil {
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
}

// The connection of a proxy is not metered.
func TestProxiesAreNotMetered(t *testing.T) {
	sent := http2Preface + strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", 10_000)
	for _, unmetered := range []bool{false, true} {
		l := framing.NewListener(once{sender{Reader: strings.NewReader(sent)}}, framing.Config{Unmetered: func(net.Addr) bool { return unmetered }})
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if whole := err == nil && string(got) == sent; whole != unmetered {
			t.Errorf("unmetered %v: %d bytes of %d came, %v", unmetered, len(got), len(sent), err)
		}
	}
}

// once is a listener that gives one connection.
type once struct{ sender }

func (o once) Accept() (net.Conn, error) { return o.sender, nil }
func (o once) Addr() net.Addr            { return nil }
func (o once) Close() error              { return nil }

func (sender) RemoteAddr() net.Addr { return &net.TCPAddr{} }
func (sender) Close() error         { return nil }
