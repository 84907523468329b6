package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/coreproc"
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

// The printed commands find the data that the server has, and no password is printed.
func TestDataFlag(t *testing.T) {
	const url = "postgres://u:canary@h/d"
	file := filepath.Join(t.TempDir(), "a b.yaml")
	if err := os.WriteFile(file, []byte("store: "+url), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data coreproc.Data
		env  map[string]string
		want string
	}{
		"default":          {coreproc.Data{}, nil, ""},
		"directory":        {coreproc.Data{Dir: "a b"}, nil, " --data 'a b'"},
		"url":              {coreproc.Data{Store: url, Dir: "d"}, nil, " --store URL"},
		"url as in env":    {coreproc.Data{Store: url}, map[string]string{"GENWAY_STORE": url}, ""},
		"file":             {coreproc.Data{Store: "a b.db"}, nil, " --store 'a b.db'"},
		"configured":       {coreproc.Data{Config: file, Dir: "d"}, nil, " --config " + quoted(file)},
		"config as in env": {coreproc.Data{Config: file}, map[string]string{"GENWAY_CONFIG": file}, ""},
	} {
		if got, err := dataFlag(c.data, func(name string) string { return c.env[name] }); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}
