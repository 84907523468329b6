package remote_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

const aChat = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`

func askThrough(t *testing.T, way remote.Way, base string) error {
	t.Helper()
	transport := remote.NewTransport(way)
	t.Cleanup(transport.CloseIdleConnections)
	u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: base, HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("hi")}}))
	return err
}

// An upstream with TLS of its own authority is called over HTTP/2, shown our
// certificate if there is one, and not trusted without that authority.
func TestTLS(t *testing.T) {
	var proto string
	var shown int
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto, shown = r.Proto, len(r.TLS.PeerCertificates)
		_, _ = io.WriteString(w, aChat)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	for _, c := range []struct {
		name  string
		tls   *tls.Config
		shown int
		fails bool
	}{
		{"own authority", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, 0, false},
		{"own authority, own certificate", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, Certificates: server.TLS.Certificates}, 1, false},
		{"the system's authorities", nil, 0, true},
	} {
		proto, shown = "", 0
		err := askThrough(t, remote.Way{TLS: c.tls}, server.URL)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.fails && (proto != "HTTP/2.0" || shown != c.shown) {
			t.Errorf("%s: %s, %d certificates shown", c.name, proto, shown)
		}
	}
}

// A proxy is asked in the upstream's place, and none is none.
func TestProxies(t *testing.T) {
	through := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through <- r.URL.String()
		_, _ = io.WriteString(w, aChat)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := askThrough(t, remote.Way{Proxy: address}, "http://upstream.example"); err != nil {
		t.Fatal(err)
	}
	if got := <-through; got != "http://upstream.example/v1/chat/completions" {
		t.Errorf("the proxy was asked for %s", got)
	}
	if remote.NewTransport(remote.Way{Direct: true}).Proxy != nil {
		t.Error("none is one")
	}
	if remote.NewTransport(remote.Way{}).Proxy == nil {
		t.Error("the environment is not asked")
	}
}

// Nothing of a call can wait for ever.
func TestEveryPhaseIsBounded(t *testing.T) {
	transport := remote.NewTransport(remote.Way{})
	if transport.TLSHandshakeTimeout <= 0 || transport.ExpectContinueTimeout <= 0 || transport.IdleConnTimeout <= 0 ||
		transport.HTTP2.SendPingTimeout <= 0 || transport.HTTP2.PingTimeout <= 0 || transport.HTTP2.WriteByteTimeout <= 0 {
		t.Errorf("%+v", transport)
	}
}
