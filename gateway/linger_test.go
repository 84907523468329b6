package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/gateway"
)

// ending is a server that shuts down while a caller has a connection.
type ending struct {
	caller net.Conn
	read   *bufio.Reader
	end    func()
	served chan error
}

// connected starts a server and connects to it.
func connected(t *testing.T, config gateway.ServerConfig) *ending {
	t.Helper()
	return connectedTo(t, config, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
}

func connectedTo(t *testing.T, config gateway.ServerConfig, answer http.HandlerFunc) *ending {
	t.Helper()
	listener := pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	e := &ending{end: end, served: make(chan error, 1)}
	go func() { e.served <- gateway.Serve(ctx, listener, answer, config) }()
	caller, accepted := net.Pipe()
	listener.conns <- accepted
	e.caller, e.read = caller, bufio.NewReader(caller)
	t.Cleanup(func() { _ = caller.Close() })
	return e
}

const last = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// send sends a part of a request.
func (e *ending) send(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		return // a write of nothing waits for a reader
	}
	if _, err := io.WriteString(e.caller, text); err != nil {
		t.Fatalf("sending %q: %v", text, err)
	}
}

// answered reads an answer, and returns whether it is the last of its connection.
func (e *ending) answered(t *testing.T) (closes bool) {
	t.Helper()
	resp, err := http.ReadResponse(e.read, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "hello" || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %q, %v", resp.StatusCode, text, err)
	}
	return resp.Close
}

// A request that is on its way when a server ends is served if it comes within Linger: on an idle
// connection, on a new one, and where its head has come in part. Its answer is the last of the
// connection, and the server waits no longer than for its connections.
func TestRequestsOnTheirWay(t *testing.T) {
	for name, before := range map[string]string{"idle": "", "new": "", "half a head": last[:20]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connected(t, gateway.ServerConfig{Linger: time.Second})
				if name != "new" {
					e.send(t, last)
					if e.answered(t) {
						t.Error("the answer ahead of the end is the last")
					}
				}
				e.send(t, before)
				synctest.Wait()
				begun := time.Now()
				e.end()
				synctest.Wait()
				time.Sleep(900 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
				e.send(t, last[len(before):])
				if !e.answered(t) {
					t.Error("the answer does not say that it is the last")
				}
				if err := <-e.served; err != nil || time.Since(begun) != 900*time.Millisecond {
					t.Errorf("ended after %v: %v", time.Since(begun), err)
				}
			})
		})
	}
}

// A stream that began before the end and goes on after Linger did not say that it is the last answer of its
// connection: its caller may send another request behind it, within Linger of the stream's end.
func TestRequestBehindAStream(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		sends bool
	}{"a request in time": {900 * time.Millisecond, true}, "no request": {time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connectedTo(t, gateway.ServerConfig{Linger: time.Second}, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/stream" {
						_ = http.NewResponseController(w).Flush()
						time.Sleep(5 * time.Second) //nolint:forbidigo // of the bubble's clock
					}
					_, _ = io.WriteString(w, "hello")
				})
				e.send(t, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
				synctest.Wait()
				begun := time.Now()
				e.end()
				if e.answered(t) {
					t.Error("the stream began with the word that it is the last answer")
				}
				synctest.Wait()
				if c.sends {
					time.Sleep(c.pause) //nolint:forbidigo // of the bubble's clock
					e.send(t, last)
					if !e.answered(t) {
						t.Error("the answer does not say that it is the last")
					}
				} else if _, err := e.read.ReadByte(); err != io.EOF {
					t.Error(err)
				}
				if err := <-e.served; err != nil || time.Since(begun) != 5*time.Second+c.pause {
					t.Errorf("ended after %v: %v", time.Since(begun), err)
				}
			})
		})
	}
}

// A connection that brings nothing is closed after Linger, and after Grace if that is shorter;
// at once without Linger.
func TestLingerEnds(t *testing.T) {
	for _, c := range []struct{ linger, grace, want time.Duration }{
		{0, time.Minute, 0},
		{time.Second, time.Minute, time.Second},
		{time.Hour, 3 * time.Second, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := connected(t, gateway.ServerConfig{Linger: c.linger, Grace: c.grace})
			e.send(t, last)
			e.answered(t)
			synctest.Wait()
			begun := time.Now()
			e.end()
			if _, err := e.read.ReadByte(); err != io.EOF || time.Since(begun) != c.want {
				t.Errorf("%+v: closed after %v: %v", c, time.Since(begun), err)
			}
			if err := <-e.served; err != nil {
				t.Error(err)
			}
		})
	}
}

// An HTTP/2 connection gets GOAWAY, and does not delay the shutdown.
func TestHTTP2DoesNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connected(t, gateway.ServerConfig{Linger: 10 * time.Second})
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return e.caller, nil }
		resp, err := (&http.Client{Transport: transport}).Get("http://a/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("%s: %v", resp.Proto, err)
		}
		_ = resp.Body.Close()
		synctest.Wait()
		begun := time.Now()
		e.end()
		if err := <-e.served; err != nil || time.Since(begun) >= 10*time.Second {
			t.Errorf("ended after %v: %v", time.Since(begun), err)
		}
		transport.CloseIdleConnections()
	})
}
