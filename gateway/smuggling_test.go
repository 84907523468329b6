package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
)

// converse sends the bytes in two pieces, the first of that length, to a server, and gives
// all that it answers until it closes the connection, and its log.
func converse(t *testing.T, sent string, cut int) (got, log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		channel := new(inproc.Channel)
		genwayv1.RegisterGenerationServer(channel, &core{answer: answer()})
		edge, err := gateway.New(gateway.Config{Core: channel, Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		if err != nil {
			t.Fatal(err)
		}
		listener := pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- gateway.Serve(ctx, listener, edge, gateway.ServerConfig{}) }()
		caller, accepted := net.Pipe()
		listener.conns <- accepted
		go func() {
			_, _ = io.WriteString(caller, sent[:cut])
			synctest.Wait()
			_, _ = io.WriteString(caller, sent[cut:])
		}()
		begun := time.Now()
		all, err := io.ReadAll(caller)
		if err != nil || time.Since(begun) > 5*time.Second && !strings.Contains(string(all), " 200 ") {
			t.Errorf("the connection ended after %v: %v", time.Since(begun), err)
		}
		_ = caller.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		got, log = string(all), lines.String()
	})
	return got, log
}

// smuggled is the request that a reader of other rules finds behind or within the first.
const smuggled = "GET / HTTP/1.1\r\nHost: smuggled\r\n\r\n"

// answers counts the answers in what a connection gave.
func answers(got string) int { return len(statusLine.FindAllString(got, -1)) }

var statusLine = regexp.MustCompile(`HTTP/1\.[01] [0-9]{3} `)

// A request whose end is ambiguous is answered 400 in the protocol of its path and is the
// last of its connection, wherever it is cut (RFC 9112, sections 6.1 and 6.3).
func TestAmbiguousFraming(t *testing.T) {
	const head = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n"
	for name, sent := range map[string]string{
		"CL+TE":             head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"TE+CL":             head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n24\r\n" + smuggled + "\r\n0\r\n\r\n",
		"in other case":     head + "cONTENT-lENGTH: 6\r\ntRANSFER-eNCODING:\tCHUNKED \r\n\r\n0\r\n\r\n" + smuggled,
		"equal lengths":     head + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + smuggled,
		"other lengths":     head + "Content-Length: 0\r\nContent-Length: 36\r\n\r\n" + smuggled,
		"list of lengths":   head + "Content-Length: 0, 0\r\n\r\n" + smuggled,
		"signed length":     head + "Content-Length: +0\r\n\r\n" + smuggled,
		"hexadecimal":       head + "Content-Length: 0x0\r\n\r\n" + smuggled,
		"empty length":      head + "Content-Length:\r\n\r\n" + smuggled,
		"2^63":              head + "Content-Length: 9223372036854775808\r\n\r\n" + smuggled,
		"long length":       head + "Content-Length: " + strings.Repeat("0", 100) + "\r\n\r\n" + smuggled,
		"folded field":      head + "X: a\r\n b\r\n\r\n" + smuggled,
		"folded coding":     head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"folded at first":   "POST /v1/messages HTTP/1.1\r\n Host: a\r\n\r\n" + smuggled,
		"bare LF":           head + "X: a\n\r\n" + smuggled,
		"bare LF in line":   "POST /v1/messages HTTP/1.1\nHost: a\r\n\r\n" + smuggled,
		"bare LF at host":   "POST /v1/messages HTTP/1.1\r\nHost: a\n\r\n" + smuggled,
		"bare LF at end":    head + "\n" + smuggled,
		"bare LF, length":   head + "Content-Length: 0\n\r\n" + smuggled,
		"gzip":              head + "Transfer-Encoding: gzip\r\n\r\n" + smuggled,
		"gzip, chunked":     head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"chunked twice":     head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"identity":          head + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + smuggled,
		"of HTTP/1.0":       "POST /v1/messages HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"ahead of the host": "POST /v1/messages HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\nHost: a\r\n\r\n" + smuggled,
		"much behind it":    head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + strings.Repeat(smuggled, 1000),
		"page's preflight":  "OPTIONS /v1/messages HTTP/1.1\r\nHost: a\r\nOrigin: https://a\r\nAccess-Control-Request-Method: POST\r\nX: a\n\r\n" + smuggled,
		"sent by caller":    head + "Genway-Framing: x\r\nContent-Length: 36\r\n\r\n" + smuggled,
	} {
		for cut := range min(len(sent), 200) {
			got, _ := converse(t, sent, cut)
			if !strings.HasPrefix(got[min(len(got), 8):], " 400 ") || answers(got) != 1 ||
				!strings.Contains(got, `{"type":"error","error":{"type":"invalid_request_error"`) || !strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Fatalf("%s, cut at %d:\n%s", name, cut, got)
			}
		}
	}
}

// Where a path is not known, or where the body is at fault, the answer is 400 as well.
func TestAmbiguousFramingElsewhere(t *testing.T) {
	const chunked = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, sent := range map[string]string{
		"no request line":    "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"space ahead of ':'": "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n" + smuggled,
		"bare CR":            "GET / HTTP/1.1\r\nHost: a\r\nX: a\rContent-Length: 36\r\n\r\n" + smuggled,
		"no colon":           "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n\r\n" + smuggled,
		"two hosts":          "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + smuggled,
		"chunk 0x0":          chunked + "0x0\r\n\r\n" + smuggled,
		"chunk -1":           chunked + "-1\r\n\r\n" + smuggled,
		"chunk empty":        chunked + "\r\n\r\n" + smuggled,
		"chunk with blank":   chunked + "0 \r\n\r\n" + smuggled,
		"chunk behind blank": chunked + " 0\r\n\r\n" + smuggled,
		"chunk of 2^63":      chunked + "8000000000000000\r\n\r\n" + smuggled,
		"chunk of 17 digits": chunked + "10000000000000000\r\n\r\n" + smuggled,
		"chunk with LF":      chunked + "0\n\r\n" + smuggled,
		"chunk with CR":      chunked + "0;a\rb\r\n\r\n" + smuggled,
		"chunk's end":        chunked + "1\r\n{0\r\n\r\n" + smuggled,
		"chunk's end in LF":  chunked + "1\r\n{\n0\r\n\r\n" + smuggled,
		"trailer with LF":    chunked + "2\r\n{}\r\n0\r\nX: a\n\r\n" + smuggled,
		"trailer folded":     chunked + "2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n" + smuggled,
		"body cut by LF":     chunked + "0\r\n\n" + smuggled,
	} {
		for cut := range len(sent) {
			if got, _ := converse(t, sent, cut); !strings.HasPrefix(got[min(len(got), 8):], " 400 ") || answers(got) != 1 || !strings.Contains(got, "X-Request-Id: req_") {
				t.Fatalf("%s, cut at %d:\n%s", name, cut, got)
			}
		}
	}
}

// Unambiguous requests that follow each other are all answered, wherever they are cut.
func TestPipelined(t *testing.T) {
	const post = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
	const body = "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[\n{\"role\":\"user\",\"content\":\n\"a\"}],\"system\":\"\"}\r\n\r\n"
	if len(body) != 0x59 {
		t.Fatal(len(body))
	}
	sent := smuggled +
		post + "Content-Length: 89\r\n\r\n" + body +
		post + "Transfer-Encoding: Chunked\r\nConsumed: x\r\n\r\n1;a=\"b\"\r\n{\r\n00058\r\n" + body[1:] + "\r\n0\r\nX: Transfer-Encoding\r\n\r\n" +
		"\r\n" + smuggled +
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length:0\r\n\r\n"
	for cut := range len(sent) {
		if got, _ := converse(t, sent, cut); strings.Count(got, "HTTP/1.1 200 ") != 5 || answers(got) != 5 {
			t.Fatalf("cut at %d:\n%s", cut, got)
		}
	}
}
