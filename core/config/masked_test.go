package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// No secret is shown, wherever the file has it.
func TestMasked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genway.yaml")
	text := `# canary in a comment
store: postgres://genway:canary@db/genway
upstreams:
  one: {kind: chat, base_url: "https://host/v1?key=canary", api_key: canary, headers: {X-Key: canary, X-More: [canary, {deep: canary}]}, query: {k: 17171717}}
  two: {kind: messages, base_url: https://host, api_key: "${TWO_KEY}", proxy: "socks5://u:canary@proxy:1", auth: {entra: {client_id: shown, client_secret: canary}}}
  three: {kind: chat, base_url: https://three, auth: {command: {run: [program, --token, canary]}}}
routes:
  - {model: "claude-*", targets: [{upstream: two, weight: 3}]}
limits: {store: "redis://:canary@host:1/0"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Masked(file)
	if err != nil || strings.Contains(string(got), "canary") || strings.Contains(string(got), "17171717") {
		t.Errorf("shown: %s, %v", got, err)
	}
	for _, kept := range []string{"https://host", "${TWO_KEY}", "claude-*", "weight: 3", "client_id: shown", "(masked)", "X-Key"} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%s is missing in %s", kept, got)
		}
	}
	for name, text := range map[string]string{"no YAML": "api_key: [canary", "no map": "- canary", "nothing": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.Masked(file)
		if strings.Contains(string(got), "canary") || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := config.Masked(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a file that is not there has a text")
	}
}
