package programs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/authority"
	"github.com/genway/genway/test/conformance/server"
)

// tlsRig has an authority and the files of certificates of it.
type tlsRig struct {
	*authority.Authority
	dir string
}

func newTLSRig(t *testing.T) tlsRig {
	t.Helper()
	ca, err := authority.New("case")
	if err != nil {
		t.Fatal(err)
	}
	r := tlsRig{Authority: ca, dir: t.TempDir()}
	if err := ca.Write(r.file("ca.pem")); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r tlsRig) file(name string) string { return filepath.Join(r.dir, name) }

// issue writes NAME.pem and NAME.key.
func (r tlsRig) issue(t *testing.T, name string, names authority.Names) *authority.Issued {
	t.Helper()
	issued, err := r.Issue(names)
	if err != nil {
		t.Fatal(err)
	}
	if err := issued.Write(r.file(name+".pem"), r.file(name+".key")); err != nil {
		t.Fatal(err)
	}
	return issued
}

// visit asks for a model's list over TLS, by a connection of its own, and returns the answer
// and how it came.
func visit(ctx context.Context, s *server.Server, config *tls.Config, key string) (status int, body string, resp *http.Response, err error) {
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/v1/models", nil)
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err = (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp, err
}

// eventually tries until it works.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// encryptedEdge holds the JSON side to TLS, in one process and two.
func encryptedEdge(t *testing.T, _ stores) {
	r := newTLSRig(t)
	first := r.issue(t, "first", authority.Here)
	second := r.issue(t, "second", authority.Names{DNS: []string{"second.example"}})
	r.issue(t, "over", authority.Names{DNS: []string{"over.example"}, Until: time.Now().Add(-time.Hour)})
	flags := []string{"--http-cert", r.file("first.pem"), "--http-cert", r.file("second.pem"), "--http-cert", r.file("over.pem"),
		"--http-key", r.file("first.key"), "--http-key", r.file("second.key"), "--http-key", r.file("over.key")}
	for name, options := range map[string]server.Options{"one process": {Args: flags}, "two": {TwoProcess: true, EdgeArgs: flags}} {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, options)
			if !strings.HasPrefix(s.URL(), "https://") {
				t.Fatalf("the log does not say https: %s", s.Edge.Log())
			}
			if line, err := s.Edge.Await("a certificate has expired"); err != nil || line["file"] != r.file("over.pem") {
				t.Errorf("%v, %v", line, err)
			}
			for _, c := range []struct {
				config   *tls.Config
				shown    *authority.Issued
				protocol int
			}{
				{&tls.Config{RootCAs: r.Pool()}, first, 2},
				{&tls.Config{RootCAs: r.Pool(), MaxVersion: tls.VersionTLS12}, first, 2},
				{&tls.Config{RootCAs: r.Pool(), ServerName: "second.example"}, second, 2},
				{&tls.Config{RootCAs: r.Pool(), NextProtos: []string{"http/1.1"}}, first, 1},
			} {
				status, body, resp, err := visit(t.Context(), s, c.config, s.Keys["chat"])
				if err != nil || status != http.StatusOK {
					t.Errorf("%d %s, %v", status, body, err)
					continue
				}
				if !bytes.Equal(resp.TLS.PeerCertificates[0].Raw, c.shown.Raw) {
					t.Errorf("to %q another certificate is shown", c.config.ServerName)
				}
				if c.config.NextProtos == nil && resp.ProtoMajor != c.protocol {
					t.Errorf("HTTP/%d is spoken", resp.ProtoMajor)
				}
			}
			if _, _, _, err := visit(t.Context(), s, &tls.Config{RootCAs: r.Pool(), MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, s.Keys["chat"]); err == nil || !strings.Contains(err.Error(), "protocol version") {
				t.Errorf("TLS 1.1: %v", err)
			}
			resp, err := server.HTTP1().Get("http://" + s.HTTP + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("cleartext on the encrypted port: %d", resp.StatusCode)
			}
		})
	}
	r.issue(t, "other", authority.Here)
	for want, flags := range map[string][]string{
		"first.key: the key does not belong to the first certificate in " + r.file("other.pem"): {"--http-cert", r.file("other.pem"), "--http-key", r.file("first.key")},
		"names 1 files and --http-key 0":          {"--http-cert", r.file("first.pem")},
		"no certificate in it, but a private key": {"--http-cert", r.file("first.key"), "--http-key", r.file("first.pem")},
		"nowhere.pem\": no such file":             {"--http-cert", r.file("nowhere.pem"), "--http-key", r.file("first.key")},
		"--http-client-ca needs --http-cert":      {"--http-client-ca", r.file("ca.pem")},
		"first.key: no certificate in it":         {"--http-cert", r.file("first.pem"), "--http-key", r.file("first.key"), "--http-client-ca", r.file("first.key")},
	} {
		if out, err := server.Output("genway-edge", append(flags, "--http", "127.0.0.1:0")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %q, %v; want %q", flags, out, err, want)
		}
	}
}

// rotatedCertificates replaces the certificates and authorities of all sides of two
// processes while they serve. No program is started again.
func rotatedCertificates(t *testing.T, _ stores) {
	old, next := newTLSRig(t), newTLSRig(t)
	for _, name := range []string{"http", "core", "edge"} {
		old.issue(t, name, authority.Here)
	}
	data := t.TempDir()
	core, err := server.StartProcess("genway-core", "--data", data, "--grpc", "127.0.0.1:0", "--log-format", "json", "--max-connection-age", "2s",
		"--grpc-cert", old.file("core.pem"), "--grpc-key", old.file("core.key"), "--edge-ca", old.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, core) })
	up, err := core.Await("core is up")
	if err != nil {
		t.Fatal(err)
	}
	edge, err := server.StartProcess("genway-edge", "--core", up["grpc"], "--http", "127.0.0.1:0", "--log-format", "json",
		"--core-ca", old.file("ca.pem"), "--core-cert", old.file("edge.pem"), "--core-key", old.file("edge.key"),
		"--http-cert", old.file("http.pem"), "--http-key", old.file("http.key"), "--http-client-ca", old.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, edge) })
	listening, err := edge.Await("edge is up")
	if err != nil {
		t.Fatal(err)
	}
	key, err := server.CreateKey(data, "chat", "bound", "--certificates", "dns:client.example")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r tlsRig, with *authority.Issued) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listening["https"]+"/v1/models", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+key)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.Pool(), Certificates: []tls.Certificate{with.TLS()}}, DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s", resp.StatusCode, text)
		}
		return nil
	}
	client := old.issue(t, "client", authority.Names{DNS: []string{"client.example"}})
	eventually(t, "before", func() error { return ask(old, client) })
	// A broken certificate changes nothing, and is logged once.
	if err := next.Write(old.file("http.key")); err != nil {
		t.Fatal(err)
	}
	if line, err := edge.Await("certificates cannot be read again; the old ones stay"); err != nil || !strings.Contains(line["error"], "http.key: no private key in it, but a certificate") {
		t.Fatalf("%v, %v", line, err)
	}
	if err := ask(old, client); err != nil {
		t.Errorf("with a broken file: %v", err)
	}
	// Both authorities, then certificates of the other, then only the other: as operators do.
	renewed := tlsRig{Authority: next.Authority, dir: old.dir}
	for _, name := range []string{"http", "core", "edge"} {
		renewed.issue(t, name, authority.Here)
	}
	if err := next.Write(old.file("ca.pem")); err != nil {
		t.Fatal(err)
	}
	newClient := renewed.issue(t, "client", authority.Names{DNS: []string{"client.example"}})
	eventually(t, "after", func() error { return ask(renewed, newClient) })
	eventually(t, "a client of the authority that was removed is refused", func() error {
		if ask(renewed, client) == nil {
			return errors.New("it is served")
		}
		return nil
	})
	if n := strings.Count(edge.Log(), "cannot be read again"); n != 1 {
		t.Errorf("a broken file is logged %d times:\n%s", n, edge.Log())
	}
}

func stopped(t *testing.T, p *server.Process) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// boundKeys holds keys to their client certificates on every way in.
func boundKeys(t *testing.T, _ stores) {
	r := newTLSRig(t)
	r.issue(t, "server", authority.Here)
	mine := r.issue(t, "mine", authority.Names{DNS: []string{"Billing.example"}, URIs: []string{"spiffe://example.org/billing"}, Emails: []string{"ada@example.org"}})
	others := r.issue(t, "others", authority.Names{DNS: []string{"search.example"}})
	stranger := newTLSRig(t).issue(t, "stranger", authority.Names{DNS: []string{"billing.example"}})
	flags := []string{"--http-cert", r.file("server.pem"), "--http-key", r.file("server.key"), "--http-client-ca", r.file("ca.pem")}
	for name, options := range map[string]server.Options{"one process": {Args: flags}, "two": {TwoProcess: true, EdgeArgs: flags}} {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, options)
			for i, condition := range []string{"dns:billing.EXAMPLE", "uri:spiffe://example.org/billing", "email:ada@Example.org", "sha256:" + mine.Fingerprint(), "dns:unused.example,sha256:" + mine.Fingerprint()} {
				key, err := server.CreateKey(s.Data, "chat", fmt.Sprint("bound-", i), "--certificates", condition)
				if err != nil {
					t.Fatal(err)
				}
				for who, c := range map[string]struct {
					shown  *authority.Issued
					status int
					reason string
				}{"mine": {mine, 200, ""}, "none": {nil, 403, "none was shown"}, "another": {others, 403, "may not be used with this client certificate"}} {
					config := &tls.Config{RootCAs: r.Pool()}
					if c.shown != nil {
						config.Certificates = []tls.Certificate{c.shown.TLS()}
					}
					status, body, _, err := visit(t.Context(), s, config, key)
					if err != nil || status != c.status || !strings.Contains(body, c.reason) {
						t.Errorf("%s, %s: %d %s, %v", condition, who, status, body, err)
					}
				}
				// A certificate of an unknown authority is refused as the connection is made, if
				// a client shows it all the same.
				shown := stranger.TLS()
				forced := &tls.Config{RootCAs: r.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }}
				if status, body, _, err := visit(t.Context(), s, forced, key); err == nil {
					t.Errorf("%s, a stranger's: %d %s", condition, status, body)
				}
			}
			// What an edge says of its caller is what it saw: headers say nothing.
			key, err := server.CreateKey(s.Data, "messages", "headers", "--certificates", "dns:billing.example")
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(map[string]any{"model": "sandbox-text", "max_tokens": 9, "messages": []any{map[string]any{"role": "user", "content": "hi"}}})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"Genway-Client-Certificate", "Grpc-Metadata-Genway-Client-Certificate", "X-Client-Certificate"} {
				req.Header.Set(name, "dns:billing.example")
			}
			req.Header.Set("X-Api-Key", key)
			req.Header.Set("Anthropic-Version", "2023-06-01")
			req.Header.Set("Content-Type", "application/json")
			resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.Pool()}, DisableKeepAlives: true}}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), `"permission_error"`) {
				t.Errorf("headers: %d %s", resp.StatusCode, text)
			}
		})
	}
}
