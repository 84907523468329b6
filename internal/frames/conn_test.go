package frames

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// sender is a connection on which those bytes come.
type sender struct {
	net.Conn
	io.Reader
}

func (s sender) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (sender) RemoteAddr() net.Addr         { return &net.TCPAddr{} }
func (sender) Close() error                 { return nil }

// A connection that begins with the preface of HTTP/2 is metered, unless it is a proxy's; any other passes as it is.
func TestPreface(t *testing.T) {
	pings := strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", 10_000)
	for name, c := range map[string]struct {
		sent          string
		trusted       bool
		http2, floods bool
	}{
		"HTTP/2":             {preface + pings, false, true, true},
		"of a proxy":         {preface + pings, true, true, false},
		"HTTP/1":             {"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + pings, false, false, false},
		"PRI of HTTP/1":      {"PRI * HTTP/1.1\r\n\r\n" + pings, false, false, false},
		"another letter":     {preface[:len(preface)-1] + "\r" + pings, false, false, false},
		"the preface later":  {"\r\n" + preface + pings, false, false, false},
		"some of it":         {preface[:20], false, false, false},
		"nothing":            {"", false, false, false},
		"the preface, twice": {preface + preface[:9], false, true, false},
	} {
		for way, r := range map[string]io.Reader{"whole": strings.NewReader(c.sent), "by byte": iotest.OneByteReader(strings.NewReader(c.sent))} {
			ended := 0
			conn := NewConn(sender{Reader: r}, func(net.Addr) { ended++ })
			if c.trusted {
				Trust(conn.RemoteAddr())
			}
			got, err := io.ReadAll(conn)
			if errors.Is(err, ErrFlood) != c.floods || !c.floods && (err != nil || string(got) != c.sent) || conn.HTTP2() != c.http2 || ended > 0 != c.floods {
				t.Errorf("%s, %s: %d bytes of %d, HTTP/2 %v, ended %d times, %v", name, way, len(got), len(c.sent), conn.HTTP2(), ended, err)
			}
		}
	}
}
