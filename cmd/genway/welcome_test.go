package main

import (
	"net"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/edgeproc"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// at is a listener that only has an address.
type at struct{ address net.Addr }

func (a at) Addr() net.Addr          { return a.address }
func (at) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (at) Close() error              { return nil }

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
		data := welcomeData{Models: map[genwayv1.Protocol]string{genwayv1.Protocol_PROTOCOL_MESSAGES: "m", genwayv1.Protocol_PROTOCOL_UNSPECIFIED: "m"}}
		data.reach(edgeproc.Listener{Listener: at{c.http}}, c.grpc, c.tls)
		var out strings.Builder
		if err := printWelcome(&out, data, firstKeys{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out.String())
			}
		}
	}
}

// Only lines for which a model is known are printed.
func TestWelcomeNamesModelsThatExist(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for name, c := range map[string]struct {
		models    map[genwayv1.Protocol]string
		says, not []string
	}{
		"none": {nil, []string{"chat             ", "More keys: genway keys create"}, []string{"Try them", "curl", "sandbox"}},
		"one": {map[genwayv1.Protocol]string{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "gemini-x"},
			[]string{"Try them:\n\ncurl http://127.0.0.1:1/v1beta/models/gemini-x:generateContent "}, []string{"/v1/chat", "sandbox", "grpcurl", "{{"}},
		"two": {map[genwayv1.Protocol]string{genwayv1.Protocol_PROTOCOL_IMAGES: "draws", genwayv1.Protocol_PROTOCOL_UNSPECIFIED: "says"},
			[]string{`"model":"draws","prompt":"A red square","size":"9x9"`, `"model":"says"`, "grpcurl"}, []string{"/v1/messages", "{{"}},
	} {
		data := welcomeData{Models: c.models, Size: "9x9"}
		data.reach(edgeproc.Listener{Listener: at{address}}, address, false)
		var out strings.Builder
		if err := printWelcome(&out, data, firstKeys{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: %q is in\n%s", name, not, out.String())
			}
		}
	}
}
