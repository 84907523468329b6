package proxyprotocol_test

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/internal/proxyprotocol"
	"github.com/pires/go-proxyproto"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// version2 is a header in version 2.
func version2(t *testing.T, command proxyproto.ProtocolVersionAndCommand, from net.Addr) string {
	t.Helper()
	h := proxyproto.Header{Version: 2, Command: command, TransportProtocol: proxyproto.TCPv4, SourceAddr: from, DestinationAddr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}}
	if _, ok := from.(*net.UnixAddr); ok {
		h.TransportProtocol, h.DestinationAddr = proxyproto.UnixStream, from
	}
	text, err := h.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Balancers' connections have the address that their headers name; one without a header is
// closed, and so is one whose header is malformed, cut off or slow. Others are as they are.
func TestHeaders(t *testing.T) {
	everyone, otherNetwork := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	caller := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}
	proxy := proxyproto.PROXY
	for name, c := range map[string]struct {
		balancers  []netip.Prefix
		sent       string
		from, rest string // no from is refused
	}{
		"version 1":              {everyone, "PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\nhello", "192.0.2.7", "hello"},
		"version 1, IPv6":        {everyone, "PROXY TCP6 2001:db8::1 2001:db8::2 1234 443\r\nhello", "2001:db8::1", "hello"},
		"version 1, unknown":     {everyone, "PROXY UNKNOWN\r\nhello", "127.0.0.1", "hello"},
		"version 2":              {everyone, version2(t, proxy, caller) + "hello", "192.0.2.7", "hello"},
		"version 2, local":       {everyone, version2(t, proxyproto.LOCAL, caller) + "hello", "127.0.0.1", "hello"},
		"version 2, unix":        {everyone, version2(t, proxy, &net.UnixAddr{Net: "unix", Name: "192.0.2.9:1"}) + "hello", "127.0.0.1", "hello"},
		"version 2, no family":   {everyone, "\r\n\r\n\x00\r\nQUIT\n\x21\x00\x00\x00hello", "", ""},
		"version 2, too long":    {everyone, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x10\x01" + strings.Repeat("a", 4097) + "hello", "", ""},
		"nothing after it":       {everyone, version2(t, proxy, caller), "192.0.2.7", ""},
		"no header":              {everyone, "GET / HTTP/1.1\r\n\r\n", "", ""},
		"malformed":              {everyone, "PROXY TCP4 nobody 10.0.0.1 1 2\r\nhello", "", ""},
		"without end":            {everyone, "PROXY TCP4 " + strings.Repeat("1", 500), "", ""},
		"cut off":                {everyone, version2(t, proxy, caller)[:20], "", ""},
		"no balancer":            {otherNetwork, "PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\n", "127.0.0.1", "PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\n"},
		"no balancer, no header": {otherNetwork, "hello", "127.0.0.1", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			below, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			refused := make(chan net.Addr, 1)
			l := proxyprotocol.NewListener(below, proxyprotocol.Config{Balancers: c.balancers, Refused: func(from net.Addr) { refused <- from }})
			defer l.Close()
			client, err := net.Dial("tcp", below.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := io.WriteString(client, c.sent); err != nil {
				t.Fatal(err)
			}
			// A connection that is refused may have been reset by now.
			if tcp, ok := client.(*net.TCPConn); !ok || tcp.CloseWrite() != nil && c.from != "" {
				t.Fatal("half a connection cannot be closed")
			}
			if c.from == "" {
				if from := <-refused; !strings.HasPrefix(from.String(), "127.0.0.1:") {
					t.Errorf("refused: %s", from)
				}
				if n, err := client.Read(make([]byte, 1)); err == nil {
					t.Errorf("%d bytes are read of a connection that was refused", n)
				}
				return
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
			if err != nil || host != c.from {
				t.Errorf("from %s", conn.RemoteAddr())
			}
			if rest, err := io.ReadAll(conn); err != nil || string(rest) != c.rest {
				t.Errorf("read %q, %v", rest, err)
			}
		})
	}
}

// A header that is cut off at any byte makes no caller, whatever its version.
func TestHeadersCutAtEachByte(t *testing.T) {
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan net.Addr, 1)
	l := proxyprotocol.NewListener(below, proxyprotocol.Config{Balancers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Refused: func(from net.Addr) { refused <- from }})
	defer l.Close()
	tlv := []byte(version2(t, proxyproto.PROXY, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}))
	tlv[15] += 7 // with a field behind the addresses
	for _, header := range []string{"PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\n", string(tlv) + "\x04\x00\x04abcd"} {
		for cut := range header {
			client, err := net.Dial("tcp", below.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(client, header[:cut]); err != nil {
				t.Fatal(err)
			}
			if tcp, ok := client.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
				t.Fatal("half a connection cannot be closed")
			}
			<-refused
			if n, err := client.Read(make([]byte, 1)); err == nil {
				t.Errorf("%d bytes are read behind %d of %q", n, cut, header)
			}
			_ = client.Close()
		}
		client, err := net.Dial("tcp", below.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		if _, err := io.WriteString(client, header); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if from := conn.RemoteAddr().String(); from != "192.0.2.7:1234" {
			t.Errorf("whole, it is of %s", from)
		}
		_ = conn.Close()
	}
}

// A connection that says nothing holds up no other, ends after the timeout, and at once with
// the listener. On a unix socket every connection is a balancer's.
func TestSilence(t *testing.T) {
	below, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan struct{}, 1)
	l := proxyprotocol.NewListener(below, proxyprotocol.Config{Timeout: 100 * time.Millisecond, Refused: func(net.Addr) { refused <- struct{}{} }})
	dial := func() net.Conn {
		c, err := net.Dial("unix", below.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	talks := dial()
	if _, err := io.WriteString(talks, "PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\nhello\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" || conn.RemoteAddr().String() != "192.0.2.7:1234" {
		t.Errorf("%q from %s, %v", line, conn.RemoteAddr(), err)
	}
	<-refused
	long := proxyprotocol.NewListener(below, proxyprotocol.Config{Timeout: time.Hour})
	silent := dial()
	if err := long.Close(); err != nil {
		t.Fatal(err)
	}
	_ = silent.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("a silent connection outlives its listener")
	}
	_ = l.Close() // the listener below is closed already
}
