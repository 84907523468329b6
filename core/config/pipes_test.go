//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/genway/genway/core/config"
)

// A named pipe without a writer delays neither a start nor a reload.
func TestKeyOfAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Parse("f", []byte("upstreams:\n  a: {kind: chat, base_url: http://x, api_key_file: "+pipe+"}\nroutes: [{model: m, targets: [{upstream: a}]}]\n"), func(string) (string, bool) { return "", false })
	if got := lines(err); !strings.Contains(got, "f:2:53: upstreams.a.api_key_file: ") || !strings.Contains(got, "pipe is empty") {
		t.Error(got)
	}
}
