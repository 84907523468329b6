package main

import (
	"net"
	"strings"
	"testing"
)

// The printed lines lead to where the server is, whatever it listens on.
func TestWelcomeLeadsThere(t *testing.T) {
	port := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	every := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}
	socket := &net.UnixAddr{Net: "unix", Name: "/run/my gateway/s"}
	for _, c := range []struct {
		name       string
		http, grpc net.Addr
		tls        bool
		says       []string
	}{
		{"ports", port, port, false, []string{"curl http://127.0.0.1:8080/v1/messages ", "grpcurl -plaintext -H", "  127.0.0.1:8080 genway.v1"}},
		{"every interface", every, every, false, []string{"curl http://127.0.0.1:8080/v1/messages ", "  127.0.0.1:8080 genway.v1"}},
		{"TLS", port, port, true, []string{"grpcurl -H"}},
		{"sockets", socket, socket, false, []string{"curl --unix-socket '/run/my gateway/s' http://localhost/v1/messages ", "grpcurl -plaintext -unix -H", "  '/run/my gateway/s' genway.v1"}},
	} {
		var data welcomeData
		data.reach(c.http, c.grpc, c.tls)
		var out strings.Builder
		if err := printWelcome(&out, data, nil); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out.String())
			}
		}
	}
	if got := quoted("it's"); got != `'it'\''s'` {
		t.Error(got)
	}
}
