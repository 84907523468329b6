package programs

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/authority"
	"github.com/genway/genway/test/conformance/server"
)

// proxyHeader is a header of the PROXY protocol, version 2, of a caller with an IPv4
// address; an empty one is of a connection of the balancer's own (LOCAL).
func proxyHeader(from string) string {
	header := "\r\n\r\n\x00\r\nQUIT\n"
	ip := net.ParseIP(from).To4()
	if ip == nil {
		return header + "\x20\x00\x00\x00"
	}
	tail := append([]byte{0x21, 0x11, 0, 12}, ip...)
	tail = append(tail, 10, 0, 0, 1)
	tail = binary.BigEndian.AppendUint16(tail, 1234)
	return header + string(binary.BigEndian.AppendUint16(tail, 443))
}

// behind is a connection to a server from a local address, with a header before all.
func behind(t *testing.T, s *server.Server, local, header string, r *tlsRig) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, header); err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return conn
	}
	return tls.Client(conn, &tls.Config{RootCAs: r.Pool(), ServerName: "localhost"})
}

// statusBehind asks for the list of models, and returns 0 if the connection is closed instead.
func statusBehind(conn net.Conn, key, forwarded string) int {
	if forwarded != "" {
		forwarded = "X-Forwarded-For: " + forwarded + "\r\n"
	}
	// A connection that is closed may refuse the request, too.
	_, _ = io.WriteString(conn, "GET /v1/models HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "+key+"\r\n"+forwarded+"\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// proxiedCallers holds an edge behind a balancer that passes connections on to the addresses
// that the balancer names, in cleartext and with TLS.
func proxiedCallers(t *testing.T, _ stores) {
	r := newTLSRig(t)
	r.issue(t, "server", authority.Here)
	for name, encrypted := range map[string]*tlsRig{"cleartext": nil, "TLS": &r} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--proxy-protocol", "127.0.0.1/32", "--trusted-proxy", "198.51.100.0/24", "--max-connections-per-address", "2"}
			if encrypted != nil {
				args = append(args, "--http-cert", r.file("server.pem"), "--http-key", r.file("server.key"))
			}
			s := server.Start(t, server.Options{Args: args, Cleartext: encrypted == nil})
			key, err := server.CreateKey(s.Data, "chat", "from", "--addresses", "192.0.2.7")
			if err != nil {
				t.Fatal(err)
			}
			for what, c := range map[string]struct {
				local, header, forwarded string
				status                   int
			}{
				"the caller":                     {"127.0.0.1", proxyHeader("192.0.2.7"), "", 200},
				"version 1":                      {"127.0.0.1", "PROXY TCP4 192.0.2.7 10.0.0.1 1234 443\r\n", "", 200},
				"another":                        {"127.0.0.1", proxyHeader("192.0.2.8"), "", 403},
				"another, who says otherwise":    {"127.0.0.1", proxyHeader("192.0.2.8"), "192.0.2.7", 403},
				"the caller, who says otherwise": {"127.0.0.1", proxyHeader("192.0.2.7"), "192.0.2.8", 200},
				"a trusted proxy":                {"127.0.0.1", proxyHeader("198.51.100.1"), "192.0.2.7", 200},
				"a trusted proxy of another":     {"127.0.0.1", proxyHeader("198.51.100.1"), "192.0.2.7, 192.0.2.8", 403},
				"the balancer itself":            {"127.0.0.1", proxyHeader(""), "", 403},
				"no header":                      {"127.0.0.1", "", "", 0},
				"a stranger":                     {"127.0.0.2", "", "", 403},
				"a stranger, who says otherwise": {"127.0.0.2", "", "192.0.2.7", 403},
			} {
				conn := behind(t, s, c.local, c.header, encrypted)
				if got := statusBehind(conn, key, c.forwarded); got != c.status {
					t.Errorf("%s: status %d, want %d", what, got, c.status)
				}
				_ = conn.Close()
			}
			// A header from a stranger is no HTTP, and no beginning of TLS.
			stranger := behind(t, s, "127.0.0.2", proxyHeader("192.0.2.7"), encrypted)
			if got := statusBehind(stranger, key, ""); got != 0 && got != http.StatusBadRequest {
				t.Errorf("a header of a stranger: status %d", got)
			}
			_ = stranger.Close()
			if line, err := s.Edge.Await("connections were refused or ended"); err != nil || !strings.Contains(line["reasons"], "proxy_protocol") {
				t.Errorf("%v, %v", line, err)
			}
			// Connections count for the callers' addresses, not for the balancer's.
			held := []net.Conn{behind(t, s, "127.0.0.1", proxyHeader("192.0.2.7"), encrypted)}
			eventually(t, "room for two", func() error { // those of before are being closed
				if statusBehind(held[0], key, "") == http.StatusOK {
					held = append(held, behind(t, s, "127.0.0.1", proxyHeader("192.0.2.7"), encrypted))
					if statusBehind(held[1], key, "") == http.StatusOK {
						return nil
					}
				}
				for _, conn := range held {
					_ = conn.Close()
				}
				held = []net.Conn{behind(t, s, "127.0.0.1", proxyHeader("192.0.2.7"), encrypted)}
				return io.EOF
			})
			if got := statusBehind(behind(t, s, "127.0.0.1", proxyHeader("192.0.2.7"), encrypted), key, ""); got != 0 {
				t.Errorf("a third connection of one caller: status %d", got)
			}
			if got := statusBehind(behind(t, s, "127.0.0.1", proxyHeader("192.0.2.9"), encrypted), key, ""); got != http.StatusForbidden {
				t.Errorf("a connection of another caller: status %d", got)
			}
		})
	}
}
