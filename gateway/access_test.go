package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/internal/transport/inproc"
)

// raw sends bytes over a connection of its own and leaves it open.
func (e *edge) raw(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(e.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answered reads an answer and fails unless the connection ends behind it.
func answered(t *testing.T, conn net.Conn) (status int, body string) {
	t.Helper()
	// Far beyond the second that it may take: the test waits for the event.
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !resp.Close {
		t.Errorf("the connection goes on: %v", resp.Header)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("behind the answer: %q, %v", rest, err)
	}
	return resp.StatusCode, string(text)
}

// A request whose body never comes is answered at once wherever the body does not matter,
// and its connection is closed.
func TestUnsentBodiesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	e := serve(t, nil)
	const chat, auth = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n", "Authorization: Bearer k\r\n"
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"no key":              {chat + "Content-Length: 50\r\n", 401},
		"no key, large":       {chat + "Content-Length: 1000000\r\n", 401},
		"no key, chunked":     {chat + "Transfer-Encoding: chunked\r\n", 401},
		"no key, expects":     {chat + "Content-Length: 50\r\nExpect: 100-continue\r\n", 401},
		"malformed key":       {chat + "Authorization: Bearer a\u00a0b\r\nContent-Length: 50\r\n", 401},
		"no-break space":      {chat + "Authorization: Bearer k\u00a0\r\nContent-Length: 50\r\n", 401},
		"two keys":            {chat + auth + auth + "Content-Length: 50\r\n", 401},
		"unknown path":        {"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n", 404},
		"hidden slash":        {"POST /v1%2Fchat/completions HTTP/1.1\r\nHost: a\r\n" + auth + "Content-Length: 50\r\n", 404},
		"wrong method":        {"PUT /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n", 405},
		"models":              {"GET /v1/models HTTP/1.1\r\nHost: a\r\n" + auth + "Content-Length: 50\r\n", 200},
		"models, chunked":     {"GET /v1/models HTTP/1.1\r\nHost: a\r\n" + auth + "Transfer-Encoding: chunked\r\n", 200},
		"models, 2^63 - 1":    {"GET /v1/models HTTP/1.1\r\nHost: a\r\n" + auth + "Content-Length: 9223372036854775807\r\n", 200},
		"a model":             {"GET /v1/models/m HTTP/1.1\r\nHost: a\r\n" + auth + "Content-Length: 50\r\n", 200},
		"health with a body":  {"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n", 200},
		"health, expects":     {"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\nExpect: 100-continue\r\n", 200},
		"a body of 1 TB":      {chat + auth + "Content-Length: 1099511627776\r\n", 413},
		"a body of 2^63 - 1":  {chat + auth + "Content-Length: 9223372036854775807\r\n", 413},
		"root with a body":    {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 262144\r\n", 200},
		"unknown, large body": {"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 262145\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if status, body := answered(t, e.raw(t, c.head+"\r\n")); status != c.status {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// A body that is large, compressed or unannounced is not read before the core has accepted
// the key, and a good key is asked about once.
func TestLargeBodiesWaitForTheKey(t *testing.T) {
	e := serve(t, nil)
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer nobody\r\n"
	e.core.fail = detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
	for name, text := range map[string]string{
		"large":       head + "Content-Length: 65537\r\n\r\n",
		"unannounced": head + "Transfer-Encoding: chunked\r\n\r\n",
		"compressed":  head + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), &bomb),
	} {
		before := e.core.checks.Load()
		status, body := answered(t, e.raw(t, text))
		if status != http.StatusUnauthorized || !strings.Contains(body, "invalid API key") || e.core.checks.Load() != before+1 {
			t.Errorf("%s: %d %s, asked %d times", name, status, body, e.core.checks.Load()-before)
		}
	}
	e.core.fail = nil
	before := e.core.checks.Load()
	large := strings.Replace(protocols[0].body, `"a"`, `"`+strings.Repeat("a", 200_000)+`"`, 1)
	for range 3 {
		if r := e.do(t, http.MethodPost, protocols[0].path, right("chat"), large); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if asked := e.core.checks.Load() - before; asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	before = e.core.checks.Load()
	if r := e.do(t, http.MethodPost, protocols[0].path, right("chat"), protocols[0].body); r.status != http.StatusOK || e.core.checks.Load() != before {
		t.Errorf("a small body: %d, asked %d times", r.status, e.core.checks.Load()-before)
	}
}

// One caller cannot take all memory for bodies: beyond its share it is asked to come again,
// natively, and others are served. A call that ends releases its memory.
func TestBodyMemoryIsBounded(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.MaxBodyBytes, c.BodyMemory = 256<<10, 1<<20 })
	body := strings.Repeat("a", 100<<10)
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Length: 262144\r\n\r\n"
	held := []net.Conn{e.raw(t, head+body), e.raw(t, head+body)} // each gets room for all of its body
	large := strings.Replace(protocols[0].body, `"a"`, `"`+body+`"`, 1)
	full := func() reply { return e.do(t, http.MethodPost, protocols[0].path, right("chat"), large) }
	r := full()
	for until := time.Now().Add(time.Minute); r.status == http.StatusOK && time.Now().Before(until); r = full() {
		for i, conn := range held { // the other one may have come first, and this one be refused
			if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				_ = conn.Close()
				held[i] = e.raw(t, head+body)
			}
		}
	}
	native(t, "chat", r, http.StatusServiceUnavailable)
	if r.header.Get("Retry-After") != "1" {
		t.Errorf("%v", r.header)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	for until := time.Now().Add(time.Minute); r.status != http.StatusOK && time.Now().Before(until); r = full() {
	}
	if r.status != http.StatusOK {
		t.Errorf("after the others have ended: %d %s", r.status, r.body)
	}
}

func TestBodyMemoryHoldsABody(t *testing.T) {
	if _, err := gateway.New(gateway.Config{Core: new(inproc.Channel), MaxBodyBytes: 1 << 20, BodyMemory: 1 << 20}); err == nil {
		t.Error("a budget that holds no body is taken")
	}
}
