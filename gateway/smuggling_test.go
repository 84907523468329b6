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

// converse sends the bytes in two pieces, the first of that length, to a server, and returns
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
		if err != nil || time.Since(begun) > 30*time.Second { // the time of a body that does not come
			t.Errorf("the connection ended after %v: %v\n%.300q\n%.300q", time.Since(begun), err, sent, all)
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

// What is behind a request that another reader may see end elsewhere is never answered, wherever it is cut: net/http
// refuses the request, or the edge makes it the last of its connection (RFC 9112, sections 6.1, 6.3 and 11.2).
func TestSmuggling(t *testing.T) {
	const head = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n"
	const chunked = head + "anthropic-version: 2023-06-01\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, sent := range map[string]string{
		"CL+TE":             head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"TE+CL":             head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n22\r\n" + smuggled + "\r\n0\r\n\r\n",
		"in other case":     head + "cONTENT-lENGTH: 6\r\ntRANSFER-eNCODING:\tCHUNKED \r\n\r\n0\r\n\r\n",
		"other lengths":     head + "Content-Length: 0\r\nContent-Length: 36\r\n\r\n",
		"list of lengths":   head + "Content-Length: 0, 0\r\n\r\n",
		"signed length":     head + "Content-Length: +0\r\n\r\n",
		"negative length":   head + "Content-Length: -1\r\n\r\n",
		"hexadecimal":       head + "Content-Length: 0x0\r\n\r\n",
		"fraction":          head + "Content-Length: 0.0\r\n\r\n",
		"empty length":      head + "Content-Length:\r\n\r\n",
		"2^63":              head + "Content-Length: 9223372036854775808\r\n\r\n",
		"folded length":     head + "Content-Length: 0\r\n 36\r\n\r\n",
		"folded coding":     head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"folded, with CL":   head + "Content-Length: 6\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"folded at first":   "POST /v1/messages HTTP/1.1\r\n Host: a\r\n\r\n",
		"LF, CL+TE":         head + "Content-Length: 6\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
		"gzip":              head + "Transfer-Encoding: gzip\r\n\r\n",
		"gzip, chunked":     head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"chunked, chunked":  head + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		"chunked twice":     head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"empty coding":      head + "Transfer-Encoding:\r\nContent-Length: 0\r\n\r\n",
		"identity":          head + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n",
		"quoted":            head + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
		"vertical tab":      head + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"of HTTP/1.0":       "POST /v1/messages HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET of HTTP/1.0":   "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET with a body":   "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"page's preflight":  "OPTIONS /v1/messages HTTP/1.1\r\nHost: a\r\nOrigin: https://a\r\nAccess-Control-Request-Method: POST\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
		"an upgrade":        "GET /v1/responses HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"space before ':'":  head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"length before ':'": head + "Content-Length : 36\r\n\r\n",
		"bare CR":           "GET / HTTP/1.1\r\nHost: a\r\nX: a\rContent-Length: 36\r\n\r\n",
		"CR at an end":      "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n",
		"NUL":               head + "Content-Length: 0\x00\r\n\r\n",
		"no colon":          "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n\r\n",
		"two hosts":         "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"much behind it":    head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + strings.Repeat(smuggled, 1000),
		"chunk 0x0":         chunked + "0x0\r\n\r\n",
		"chunk -1":          chunked + "-1\r\n\r\n",
		"chunk empty":       chunked + "\r\n\r\n",
		"chunk with blank":  chunked + "0 \r\n\r\n",
		"chunk after blank": chunked + " 0\r\n\r\n",
		"chunk of 2^63":     chunked + "8000000000000000\r\n\r\n",
		"chunk of 2^64":     chunked + "10000000000000000\r\n\r\n",
		"chunk with LF":     chunked + "0\n\r\n",
		"chunk with CR":     chunked + "0;a\rb\r\n\r\n",
		"extension with LF": chunked + "0;a\nb\r\n\r\n",
		"chunk's end":       chunked + "1\r\n{0\r\n\r\n",
		"chunk's end in LF": chunked + "1\r\n{\n0\r\n\r\n",
		"trailer with LF":   chunked + "2\r\n{}\r\n0\r\nX: a\n\r\n",
		"trailer folded":    chunked + "2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n",
		"trailing length":   chunked + "2\r\n{}\r\n0\r\nContent-Length: 36\r\n\r\n",
		"body ended by LF":  chunked + "0\r\n\n",
	} {
		sent += smuggled
		for cut := 0; cut < len(sent); cut += 1 + len(sent)/40 {
			if got, _ := converse(t, sent, cut); answers(got) != 1 || !strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Fatalf("%s, cut at %d:\n%s", name, cut, got)
			}
		}
	}
}

// Where RFC 9112 lets a server choose, net/http goes on: it takes equal lengths for one (RFC 9110, 8.6), a bare LF for the end
// of a line (2.2) and a fold for blanks (5.2). A proxy that sees another end breaks the RFC, whichever its server is.
func TestRequestsThatGoOn(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: a\r\n"
	for name, sent := range map[string]string{
		"equal lengths":   head + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"long length":     head + "Content-Length: " + strings.Repeat("0", 100) + "\r\n\r\n",
		"bare LF":         head + "X: a\n\r\n",
		"bare LF at end":  head + "\n",
		"bare LF in line": "GET / HTTP/1.1\nHost: a\r\n\r\n",
		"folded field":    head + "X: a\r\n Content-Length: 36\r\n\r\n",
	} {
		if got, _ := converse(t, sent+"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 0); strings.Count(got, "HTTP/1.1 200 ") != 2 {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// What net/http answers itself, as docs/faults.md says, ends the connection, although the body does not come.
func TestAnswersOfNetHTTP(t *testing.T) {
	const line, head = "POST /v1/messages HTTP/1.1\r\n", "POST /v1/messages HTTP/1.1\r\nHost: a\r\n"
	for sent, status := range map[string]string{
		line + "X: a\r\n\r\n":                                             "400",
		line + "Host: a\r\nHost: b\r\n\r\n":                               "400",
		line + "Host: a b\r\n\r\n":                                        "400",
		"P@ST / HTTP/1.1\r\nHost: a\r\n\r\n":                              "400",
		"POST /%zz HTTP/1.1\r\nHost: a\r\n\r\n":                           "400",
		"POST / HTTP/one\r\nHost: a\r\n\r\n":                              "400",
		head + "X Y: a\r\n\r\n":                                           "400",
		head + ": a\r\n\r\n":                                              "400",
		head + "X: \x00\r\n\r\n":                                          "400",
		head + "Content-Length: x\r\n\r\n":                                "400",
		head + "X: " + strings.Repeat("a", 80<<10):                        "431",
		head + strings.Repeat("X: a\r\n", 16<<10):                         "431",
		head + "Expect: x\r\nContent-Length: 5\r\n\r\n":                   "417",
		head + "Expect: x\r\nContent-Length: 9223372036854775807\r\n\r\n": "417",
		head + "Expect: x\r\nTransfer-Encoding: chunked\r\n\r\n":          "417",
		head + "Transfer-Encoding: gzip\r\n\r\n":                          "501",
		"POST /v1/messages HTTP/2.0\r\nHost: a\r\n\r\n":                   "505",
		"GET / HTTP/0.9\r\nHost: a\r\n\r\n":                               "505",
	} {
		if got, log := converse(t, sent, 0); answers(got) != 1 || !strings.HasPrefix(got, "HTTP/1.1 "+status+" ") || strings.Contains(got, "X-Request-Id") || strings.Contains(log, "msg=request") {
			t.Errorf("%.60q:\n%.300s\n%s", sent, got, log)
		}
	}
}

// Requests with a length that follow each other are all answered, wherever they are cut, and so is one in chunks, after
// which the connection ends.
func TestPipelined(t *testing.T) {
	const post = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
	const body = "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[\n{\"role\":\"user\",\"content\":\n\"a\"}],\"system\":\"\"}\r\n\r\n"
	if len(body) != 0x59 {
		t.Fatal(len(body))
	}
	sent := smuggled + post + "Content-Length: 89\r\n\r\n" + body + smuggled +
		post + "Transfer-Encoding: Chunked\r\nConsumed: x\r\n\r\n1;a=\"b\"\r\n{\r\n00058\r\n" + body[1:] + "\r\n0\r\nX: Transfer-Encoding\r\n\r\n" + smuggled
	for cut := range len(sent) {
		if got, _ := converse(t, sent, cut); strings.Count(got, "HTTP/1.1 200 ") != 4 || answers(got) != 4 {
			t.Fatalf("cut at %d:\n%s", cut, got)
		}
	}
}
