package framing_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/genway/genway/gateway/framing"
)

// sender is a connection on which those bytes come.
type sender struct {
	net.Conn
	io.Reader
}

func (s sender) Read(p []byte) (int, error) { return s.Reader.Read(p) }

// requests are those that net/http reads, up to the first that it refuses, with their
// bodies; and whether the last was marked as ambiguous.
func requests(r io.Reader) (read []string, marked bool) {
	from := bufio.NewReader(r)
	for {
		req, err := http.ReadRequest(from)
		if err != nil {
			return read, false
		}
		if req.Header.Get(framing.Header) != "" {
			return read, true
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return read, false
		}
		read = append(read, req.Method+" "+req.RequestURI+" "+strconv.Quote(string(body)))
		if req.Close || req.ProtoMajor != 1 {
			return read, false
		}
	}
}

const (
	get     = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	post    = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n\r\n\r\na"
	chunked = "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n5;a=b\r\n\r\n\r\na\r\n00A\r\n0123456789\r\n0\r\nX: a\r\n\r\n"
)

// Whatever is sent, and however it is cut, no request is read through a Conn that net/http
// would not read itself, in the same order; and where a Conn finds nothing ambiguous it
// hides none.
func FuzzConn(f *testing.F) {
	for _, seed := range []string{
		get + post + chunked + get,
		"POST /c HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n0\r\n\r\n" + get,
		"POST /c HTTP/1.1\nContent-Length: 5\r\n\r\n" + post, "\r\n\n" + get, post + "\r\n" + get,
		"POST /d HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + get, "PRI * HTTP/1.1\r\nHost: a\r\n\r\n" + get, "PRI * HTTP/2.0\r\nHost: a\r\n\r\n" + get,
		"POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na" + get, "GET / HTTP/1.1\r\nHost: a\r\nExpect: a\r\n\r\n" + get,
		"G\r\r\n: \r\n \r\n\r\n", "0 / HTTP/1.1\r\nA:\r\n\tcontent-length: 5\r\n\r\n" + get,
	} {
		f.Add([]byte(seed), uint16(20))
	}
	f.Fuzz(func(t *testing.T, sent []byte, cut uint16) {
		at := min(int(cut), len(sent))
		want, _ := requests(bytes.NewReader(sent))
		for name, pieces := range map[string]io.Reader{
			"whole":   bytes.NewReader(sent),
			"in two":  io.MultiReader(bytes.NewReader(sent[:at]), bytes.NewReader(sent[at:])),
			"by byte": iotest.OneByteReader(bytes.NewReader(sent)),
		} {
			through, marked := requests(framing.NewConn(sender{Reader: pieces}))
			if len(through) > len(want) || !slices.Equal(through, want[:len(through)]) {
				t.Fatalf("%s: %q, while net/http alone reads %q", name, through, want)
			}
			if strict := !strings.Contains(string(sent), "\n ") && !marked && unambiguous(sent); strict && len(through) < len(want) {
				t.Fatalf("%s: %q was hidden", name, want[len(through):])
			}
		}
	})
}

// unambiguous reports whether the bytes are one of the requests above, repeated.
func unambiguous(sent []byte) bool {
	rest := string(sent)
	for rest != "" {
		before := rest
		for _, whole := range []string{get, post, chunked} {
			rest = strings.TrimPrefix(rest, whole)
		}
		if rest == before {
			return false
		}
	}
	return true
}

// An expectation is marked, unless it is the one that is known, and hides nothing.
func TestExpectations(t *testing.T) {
	for value, want := range map[string]string{
		"100-continue": "", " 100-CONTINUE\t": "", "": "", " ": "",
		"200-ok": framing.Expectation, "100-continue, a": framing.Expectation, strings.Repeat("a", 1000): framing.Expectation, "100-continue" + strings.Repeat(" ", 100): framing.Expectation,
	} {
		head := "POST / HTTP/1.1\r\nHost: a\r\nExpect:" + value + "\r\nContent-Length: 50\r\n\r\n"
		for name, pieces := range map[string]io.Reader{"whole": strings.NewReader(head), "by byte": iotest.OneByteReader(strings.NewReader(head))} {
			req, err := http.ReadRequest(bufio.NewReader(framing.NewConn(sender{Reader: pieces})))
			if err != nil {
				t.Errorf("%q, %s: %v", value, name, err)
				continue
			}
			if got := req.Header.Get(framing.Header); got != want || want != "" && req.Header.Get("Expect") != "" {
				t.Errorf("%q, %s: marked %q, want %q; Expect is %q", value, name, got, want, req.Header.Get("Expect"))
			}
		}
	}
}

// Small buffers get the same bytes.
func TestSmallBuffers(t *testing.T) {
	sent := get + chunked + post + get
	for size := 1; size < 80; size++ {
		conn := framing.NewConn(sender{Reader: strings.NewReader(sent)})
		got, buffer := "", make([]byte, size)
		for {
			n, err := conn.Read(buffer)
			if got += string(buffer[:n]); err != nil {
				break
			}
		}
		if got != sent {
			t.Fatalf("buffers of %d bytes got %q", size, got)
		}
	}
}

// HTTP/2 passes as it is.
func TestPrefacePasses(t *testing.T) {
	sent := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(bytes.Repeat([]byte("\n \nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 100))
	for _, pieces := range []io.Reader{strings.NewReader(sent), iotest.OneByteReader(strings.NewReader(sent))} {
		if got, err := io.ReadAll(framing.NewConn(sender{Reader: pieces})); err != nil || string(got) != sent {
			t.Errorf("%d bytes of %d came, %v", len(got), len(sent), err)
		}
	}
}

// repeater sends the same request again and again.
type repeater struct {
	net.Conn
	request []byte
}

func (r repeater) Read(p []byte) (int, error) { return copy(p, r.request), nil }

func BenchmarkConn(b *testing.B) {
	request := []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: OpenAI/Go 3.95.0\r\nContent-Length: 200\r\nAccept: application/json\r\n" +
		"Authorization: Bearer gwk_chat_0123456789abcdefghijklmnopqrstuvwxyz\r\nContent-Type: application/json\r\nX-Stainless-Arch: x64\r\nX-Stainless-Lang: go\r\nX-Stainless-Os: Linux\r\n" +
		"X-Stainless-Package-Version: 3.95.0\r\nX-Stainless-Retry-Count: 0\r\nX-Stainless-Runtime: go\r\nX-Stainless-Runtime-Version: go1.26.8\r\nAccept-Encoding: gzip\r\n\r\n" + strings.Repeat("x", 200))
	conn, buffer := framing.NewConn(repeater{request: request}), make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := conn.Read(buffer); n != len(request) || err != nil {
			b.Fatal(n, err)
		}
	}
}
