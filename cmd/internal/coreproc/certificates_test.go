package coreproc

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/internal/certs/certtest"
)

// The certificate that an upstream is shown, and the authority that it is believed by, are
// read again when they change; a bad file changes nothing, and the end of a certificate is
// warned of.
func TestUpstreamCertificatesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	one, two := certtest.New(t, "one"), certtest.New(t, "two")
	clients := one.Pool()
	clients.AddCert(two.Certificate)
	var server atomic.Pointer[tls.Certificate]
	serve := func(by *certtest.Authority) {
		pair, err := by.Files(t, t.TempDir(), "server", certtest.Names{}).Read()
		if err != nil {
			t.Fatal(err)
		}
		server.Store(&pair)
	}
	serve(one)
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, r.TLS.PeerCertificates[0].DNSNames[0])
	}))
	upstream.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, Certificates: []tls.Certificate{*server.Load()}}, nil
	}}
	upstream.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	upstream.Config.SetKeepAlivesEnabled(false) // each request makes a connection
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	certtest.Write(t, filepath.Join(dir, "genway.yaml"), fmt.Appendf(nil,
		"upstreams:\n  a: {kind: chat, base_url: %q, ca_file: ca.pem, cert_file: client.pem, key_file: client.key}\nroutes:\n  - {model: \"*\", targets: [{upstream: a}]}\n", upstream.URL))
	one.File(t, dir, "ca.pem")
	one.Files(t, dir, "client", certtest.Names{DNS: []string{"first"}})
	lines := make(chan string, 64)
	r := routing(t, filepath.Join(dir, "genway.yaml"), slog.New(slog.NewTextHandler(writerFunc(func(line string) { lines <- line }), nil)))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	says := func(want string) {
		t.Helper()
		for timeout := time.After(time.Minute); ; {
			select {
			case line := <-lines:
				if strings.Contains(line, want) {
					return
				}
			case <-timeout:
				t.Fatalf("the log does not say %s", want)
			}
		}
	}
	for _, step := range []struct {
		do          func()
		says, shown string
	}{
		{func() {}, "", "first"},
		{func() { two.Files(t, dir, "client", certtest.Names{DNS: []string{"second"}}) }, "configuration reloaded", "second"},
		{func() { certtest.Write(t, filepath.Join(dir, "client.key"), []byte("half a k")) }, "client.key: no private key in it", "second"},
		{func() {
			one.Files(t, dir, "client", certtest.Names{DNS: []string{"third"}, Until: time.Now().Add(time.Hour)})
		}, "a certificate expires soon", "third"},
		{func() { serve(two); two.File(t, dir, "ca.pem") }, "configuration reloaded", "third"},
	} {
		step.do()
		if step.says != "" {
			says(step.says)
		}
		if shown, err := ask(t.Context(), r); err != nil || shown != step.shown {
			t.Errorf("%s: the upstream was shown %q, want %s: %v", step.says, shown, step.shown, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
