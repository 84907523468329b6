//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/test/servers"
)

// Case X62: a store is filled once, on both databases, and passes the checks of the ledger and the
// audit; nothing is added to what is in it already.
func TestDemo(t *testing.T) {
	for name, location := range map[string]string{"sqlite": "", "postgres": servers.PostgresDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := func(args ...string) (string, error) {
				if location != "" {
					args = append(args, "--store", location)
				}
				return genway(t, dir, args...)
			}
			good := func(args ...string) string {
				t.Helper()
				out, err := run(args...)
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				return out
			}
			out := good("demo")
			if !strings.HasPrefix(out, "made up 8 keys and 20000 requests.\n") || strings.Contains(out, "gwk_") {
				t.Errorf("it says %s", out)
			}
			prices := filepath.Join(dir, demo.PricesName)
			if out := good("ledger", "check", "--prices", prices); !strings.Contains(out, "20000 requests that began") || !strings.Contains(out, "all is well") {
				t.Error(out)
			}
			if out := good("audit", "verify"); !strings.Contains(out, "whole") {
				t.Error(out)
			}
			check, err := program().Parse([]string{"config", "check", "--strict", filepath.Join(dir, demo.ConfigurationName)})
			if err != nil {
				t.Fatal(err)
			}
			if err := check.Run(t.Context(), io.Discard); err != nil {
				t.Error(err)
			}
			before := good("usage", "--by", "model", "--format", "csv")
			if err := os.WriteFile(prices, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := run("demo"); !errors.Is(err, errNotEmpty) {
				t.Errorf("a store in use: %v", err)
			}
			if after := good("usage", "--by", "model", "--format", "csv"); after != before {
				t.Errorf("it was changed: %s", after)
			}
			if text, err := os.ReadFile(prices); err != nil || string(text) != "mine" {
				t.Errorf("a file was written over: %s, %v", text, err)
			}
		})
	}
}

// A store that has a key or a request of its own is not filled by mistake.
func TestDemoRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "keys", "create", "--group", "chat", "--name", "mine")
	if out, err := genway(t, dir, "demo"); !errors.Is(err, errNotEmpty) || out != "" {
		t.Errorf("%s, %v", out, err)
	}
	if out := must(t, dir, "keys", "list"); strings.Count(out, "key_") != 1 {
		t.Error(out)
	}
}

// A link is for the address by which browsers reach the console, as far as the variables say it.
func TestConsoleLink(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "keys", "create", "--group", "chat", "--name", "mine")
	for _, c := range []struct{ url, address, want string }{
		{"", "", "http://127.0.0.1:8088"}, {"", ":9000", "http://127.0.0.1:9000"}, {"", "off", "http://127.0.0.1:8088"}, {"", "unix:/tmp/a", "http://127.0.0.1:8088"},
		{"https://console.example.com/", ":9000", "https://console.example.com"},
	} {
		t.Setenv("GENWAY_CONSOLE_URL", c.url)
		t.Setenv("GENWAY_CONSOLE", c.address)
		if link := must(t, dir, "console", "link"); !strings.HasPrefix(link, c.want+"/sign-in#gwk_") {
			t.Errorf("%+v: %s", c, link)
		}
	}
}
