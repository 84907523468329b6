//go:build unix

package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/certs/certtest"
	"github.com/genway/genway/internal/transport/inproc"
)

// halfClosing is a caller over TCP, or TLS above it, that can close its sending side.
type halfClosing struct {
	net.Conn
	read *bufio.Reader
}

// serveSockets serves a handler on a socket and connects to it.
func serveSockets(t *testing.T, encrypted bool, handler http.Handler) *halfClosing {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var config gateway.ServerConfig
	authority := certtest.New(t, "authority")
	if encrypted {
		_, certificate, key := authority.Issue(t, certtest.Names{DNS: []string{"localhost"}})
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- gateway.Serve(ctx, listener, handler, config) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if encrypted {
		conn = tls.Client(conn, &tls.Config{RootCAs: authority.Pool(), ServerName: "localhost"})
	}
	return &halfClosing{conn, bufio.NewReader(conn)}
}

// ask sends a request and closes the sending side.
func (c *halfClosing) ask(t *testing.T, request string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// A caller that closes its sending side behind its request, as many tools on a socket do, gets its
// answer; one that closes the connection, which looks the same until something is sent, is gone at once.
func TestHalfClosedCallers(t *testing.T) {
	const request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
	for _, encrypted := range []bool{false, true} {
		for _, c := range []struct {
			name, request string
			leaves, gone  bool
		}{
			{"half-closed", request, false, false},
			{"without a body", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, false},
			{"on its last request", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false, false},
			{"gone", request, true, true},
			{"HTTP/1.0, which has no interim answers", strings.Replace(request, "/1.1", "/1.0", 1), false, true},
		} {
			t.Run(map[bool]string{false: "", true: "TLS, "}[encrypted]+c.name, func(t *testing.T) {
				release, over := make(chan struct{}), make(chan error, 1)
				caller := serveSockets(t, encrypted, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					select {
					case <-release:
						_, _ = io.WriteString(w, "hello")
						over <- r.Context().Err()
					case <-r.Context().Done():
						over <- r.Context().Err()
					}
				}))
				caller.ask(t, c.request)
				if c.leaves {
					_ = caller.Close()
				}
				if c.gone {
					if err := <-over; err == nil {
						t.Error("the request went on")
					}
					return
				}
				if resp, err := http.ReadResponse(caller.read, nil); err != nil || resp.StatusCode != http.StatusContinue {
					t.Fatalf("%v, %v; want 100", resp, err)
				}
				close(release)
				resp, err := http.ReadResponse(caller.read, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "hello" {
					t.Errorf("%q, %v", text, err)
				}
				if err := <-over; err != nil {
					t.Error(err)
				}
				if _, err := caller.read.ReadByte(); err == nil {
					t.Error("the connection is open still")
				}
			})
		}
	}
}

// A stream that is silent while its caller closes the sending side sends a heartbeat at once, which tells
// a caller that is there from one that has left; without heartbeats every such caller counts as gone.
func TestHalfClosedStreams(t *testing.T) {
	for _, c := range []struct {
		name         string
		heartbeat    time.Duration
		leaves, gone bool
	}{
		{"half-closed", time.Hour, false, false}, {"gone", time.Hour, true, true}, {"without heartbeats", -1, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			release, over := make(chan struct{}), make(chan error, 1)
			channel := new(inproc.Channel)
			genwayv1.RegisterGenerationServer(channel, &core{stream: func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				events := codec.Events(answer(), func(s string) []string { return []string{s[:2], s[2:]} })
				for _, ev := range events[:len(events)-1] {
					if err := send(ev); err != nil {
						over <- err
						return err
					}
				}
				select {
				case <-release:
				case <-ctx.Done():
				}
				over <- ctx.Err()
				return send(events[len(events)-1])
			}})
			edge, err := gateway.New(gateway.Config{Core: channel, Heartbeat: c.heartbeat})
			if err != nil {
				t.Fatal(err)
			}
			caller := serveSockets(t, false, edge)
			const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`
			if _, err := io.WriteString(caller, "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Length: 70\r\n\r\n"+body); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(caller.read, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			until := func(begins string) {
				for line := ""; !strings.HasPrefix(line, begins); {
					var err error
					if line, err = lines.ReadString('\n'); err != nil {
						t.Fatalf("%v ahead of %q", err, begins)
					}
				}
			}
			until("data:")
			if err := caller.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if c.leaves {
				_ = caller.Close()
			}
			if c.gone {
				if err := <-over; err == nil {
					t.Error("the request went on")
				}
				return
			}
			until(": ping")
			close(release)
			until("data: [DONE]")
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}
