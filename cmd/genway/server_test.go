package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
)

// administrated is a core on a data directory, and the flags by which commands reach it with the admin key of a file.
func administrated(t *testing.T) (dir string, flags []string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "admin.key")
	write(t, file, must(t, dir, "keys", "create", "--group=admin", "--name=ops"))
	core, err := coreproc.CoreFlags{Data: coreproc.Data{Dir: dir}, TextModel: "t", ImageModel: "i", Grace: time.Second}.Open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- core.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := core.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, []string{"--server", listener.Addr().String(), "--server-key-file", file}
}

// The same commands work on a server as on a store, with nothing but an admin key.
func TestKeysOfAServer(t *testing.T) {
	dir, flags := administrated(t)
	file := flags[3]
	// If the store were asked, it would be another directory's.
	elsewhere := t.TempDir()
	remote := func(args ...string) (string, error) {
		return genway(t, elsewhere, append(args, flags...)...)
	}
	raw, err := remote("keys", "create", "--group=chat", "--name=ci", "--models=gpt-*")
	if err != nil || keys.Valid(strings.TrimSpace(raw)) != nil {
		t.Fatalf("%q, %v", raw, err)
	}
	if out, err := remote("keys", "update", "ci", "--owner=ada"); err != nil || !strings.Contains(out, "ada") || !strings.Contains(out, "gpt-*") {
		t.Errorf("update: %s, %v", out, err)
	}
	if out, err := remote("keys", "revoke", "ci"); err != nil || !strings.HasPrefix(out, "revoked key_") {
		t.Errorf("revoke: %s, %v", out, err)
	}
	here, err := remote("keys", "list")
	if there := must(t, dir, "keys", "list"); err != nil || here != there {
		t.Errorf("list: %v\n%s\n%s", err, here, there)
	}
	if out := must(t, dir, "audit", "list"); strings.Count(out, "  key:key_") != 3 {
		t.Errorf("audit:\n%s", out)
	}

	csv := filepath.Join(dir, "k.csv")
	write(t, csv, "group,name,owner\nchat,a,\nchat,b,key_ok\nchat,c,x\nadmin,key_1,x\n")
	if _, err := remote("keys", "import", csv); err == nil || !strings.Contains(err.Error(), "k.csv:5:7: name: it cannot begin with key_") {
		t.Errorf("import: %v", err)
	}
	for n, want := range map[int]string{0: "id,group,name,key\n", 1000: "id,group,name,key\n", 1001: ""} {
		write(t, csv, "group\n"+strings.Repeat("chat\n", n))
		out, err := remote("keys", "import", csv)
		if (err == nil) != (n <= 1000) || !strings.HasPrefix(out, want) || strings.Count(out, ",gwk_") != n%1001 {
			t.Errorf("import of %d: %.100q, %v", n, out, err)
		}
	}
	write(t, file, raw)
	if _, err := remote("keys", "list"); err == nil || !strings.Contains(err.Error(), "invalid API key") {
		t.Errorf("by a revoked key: %v", err)
	}
	write(t, file, "no key")
	if _, err := remote("keys", "list"); err == nil || !strings.Contains(err.Error(), "not a key") {
		t.Errorf("by no key: %v", err)
	}
	if _, err := genway(t, elsewhere, "keys", "list", "--server", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "--server needs --server-key-file") {
		t.Errorf("without a key: %v", err)
	}
}

// A key crosses no network in the clear.
func TestServersElsewhereAreEncrypted(t *testing.T) {
	for server, plain := range map[string]bool{
		"127.0.0.1:9090": true, "[::1]:9090": true, "unix:/run/genway.sock": true,
		"10.0.0.1:9090": false, "localhost:9090": false, "core.internal:9090": false, "nonsense": false,
	} {
		transport, err := serverFlags{Server: server}.transport()
		if err != nil || (transport.Info().SecurityProtocol == "insecure") != plain {
			t.Errorf("%s: %+v, %v", server, transport.Info(), err)
		}
	}
}
