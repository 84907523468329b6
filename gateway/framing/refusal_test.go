package framing_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/gateway/framing"
)

type connKey struct{}

// refusingServer refuses by the reason and the request line; its handler answers with bytes
// that look like a refusal of net/http's.
func refusingServer(t *testing.T, wrap func(net.Listener, framing.Config) net.Listener) (address string, ended func() []string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var reasons []string
	config := framing.Config{
		Ended: func(reason string, _ net.Addr) {
			mu.Lock()
			defer mu.Unlock()
			reasons = append(reasons, reason)
		},
		Refuse: func(r framing.Refusal, _ *framing.Conn) []byte {
			return fmt.Appendf(nil, "HTTP/1.1 %d Native\r\nConnection: close\r\n\r\n%s %q", r.Status, r.Reason, r.Line)
		},
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 16 << 10, Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Context().Value(connKey{}).(*framing.Conn).Answering(true)
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write([]byte(lookalike))
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(body)
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			if conn, ok := c.(*framing.Conn); ok && state == http.StateIdle {
				conn.Answering(false)
			}
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error)
	go func() { served <- server.Serve(wrap(l, config)) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), reasons...)
	}
}

// lookalike is as long as net/http's buffers are, so that it is written as it is.
var lookalike = func() string {
	text := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	return text + strings.Repeat(" ", 8192-len(text))
}()

// send writes all on a connection of its own, ends its own side, and gives what comes.
func send(t *testing.T, address, all string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		_, _ = io.WriteString(conn, all)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v after %q", err, got)
	}
	return string(got)
}

// The refusal of net/http is replaced, that of the right request; what a handler writes is not,
// whatever it looks like.
func TestRefused(t *testing.T) {
	address, ended := refusingServer(t, framing.NewListener)
	for _, c := range []struct{ sent, want string }{
		{"GET /a HTTP/1.1\r\n\r\n" + get, `400 Native host "GET /a HTTP/1.1"`},
		{"GET /a HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n" + get, `400 Native malformed "GET /a HTTP/1.1"`},
		{"GET /a HTTP/1.1\r\nHost: a\r\nX{: a\r\n\r\n" + get, `400 Native malformed "GET /a HTTP/1.1"`},
		{"GET /a HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n" + get, `400 Native malformed "GET /a HTTP/1.1"`},
		{"GET /a HTTP/1.1\r\nHost: a\r\nX: a", `400 Native incomplete "GET /a HTTP/1.1"`},
		{"GET /a HT", `400 Native incomplete "GET /a HT"`},
		{"GET /a HTTP/4.0\r\nHost: a\r\n\r\n", `505 Native version "GET /a HTTP/4.0"`},
		{"GET /" + strings.Repeat("a", 30<<10) + " HTTP/1.1\r\n", `431 Native large-head "GET /` + strings.Repeat("a", 251) + `"`},
		{"PRI * HTTP/2.0\r\nHost: a\r\n: a\r\n\r\n", `400 Native malformed "PRI * HTTP/2.0"`},
		{"\x16\x03\x01\x02\r\n\r\n", `400 Native malformed "\x16\x03\x01\x02"`},
		{"\r\n\r\n", `400 Native malformed ""`},
		{"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", `400 Native malformed ""`},
	} {
		before := len(ended())
		for _, ahead := range []string{"", get + get} {
			got := send(t, address, ahead+c.sent)
			_, last, _ := strings.Cut(got, "Native")
			if !strings.Contains(got, strings.ReplaceAll(c.want[:10], "Native", "Native\r\n")) || !strings.HasSuffix(last, "\r\n\r\n"+c.want[11:]) || strings.Count(got, "Native") != 1 {
				t.Errorf("%.60q behind %.20q: %.300q", c.sent, ahead, last)
			}
			if n := strings.Count(got, lookalike); n != strings.Count(ahead, get) {
				t.Errorf("%.60q behind %.20q: %d answers of the handler came whole", c.sent, ahead, n)
			}
		}
		if got := ended()[before:]; len(got) != 2 {
			t.Errorf("%.60q: 2 connections were ended, %q were counted", c.sent, got)
		}
	}
	echo := fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(lookalike), lookalike)
	from := bufio.NewReader(strings.NewReader(send(t, address, echo+"GET /a HTTP/1.1\r\n\r\n")))
	for _, want := range []string{lookalike + lookalike, `host "GET /a HTTP/1.1"`} {
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != want {
			t.Errorf("an answer is %.300q, %v; want %.300q", got, err, want)
		}
	}
	if got := send(t, address, ""); got != "" {
		t.Errorf("a connection on which nothing came got %q", got)
	}
}

// Each connection's refusal is of its own request.
func TestRefusalsInParallel(t *testing.T) {
	address, ended := refusingServer(t, framing.NewListener)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			line := fmt.Sprintf("GET /%d HTTP/1.1", i)
			if got := send(t, address, get+line+"\r\n\r\n"+get); !strings.HasSuffix(got, fmt.Sprintf("host %q", line)) {
				t.Errorf("%s: %.300q", line, got)
			}
		})
	}
	all.Wait()
	if got := ended(); len(got) != 50 {
		t.Errorf("%d were counted", len(got))
	}
}

// A request in clear text on a TLS port is refused by its own line; what is neither is
// not answered as HTTP.
func TestRequestsWithoutTLS(t *testing.T) {
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	certificates.Close()
	address, ended := refusingServer(t, func(l net.Listener, c framing.Config) net.Listener {
		return framing.NewTLSListener(l, certificates.TLS, time.Minute, c)
	})
	for sent, want := range map[string]string{
		"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("a", 100_000): `no-tls "POST /v1/messages HTTP/1.1"`,
		"GET /" + strings.Repeat("a", 300) + " HTTP/1.1\r\nHost: a\r\n\r\n":                                      `no-tls "GET /` + strings.Repeat("a", 251) + `"`,
	} {
		if got := send(t, address, sent); !strings.HasPrefix(got, "HTTP/1.1 400 Native\r\n") || !strings.HasSuffix(got, want) {
			t.Errorf("%.40q: %.300q", sent, got)
		}
	}
	if got := ended(); len(got) != 2 {
		t.Errorf("%q were counted", got)
	}
	for _, sent := range []string{"\x16\x03\x01\x00\x05hello", "EHLO a\r\n", "\x00\x00\x00\x00\x00"} {
		if got := send(t, address, sent); strings.Contains(got, "Native") {
			t.Errorf("%q: %q", sent, got)
		}
	}
}
