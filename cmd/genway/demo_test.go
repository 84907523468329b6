//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/test/servers"
)

// Case X62: a store is filled once, on both databases, and passes the checks of the ledger and the
// audit; what is in it already is not added to unless that is asked for.
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
			fill := []string{"demo", "--requests=300", "--days=2", "--end=2026-03-20T11:30:00Z"}
			out := good(fill...)
			if !regexp.MustCompile(`^made up 17 keys and 300 requests until 2026-03-20T11:30:00Z: [0-9.]+ s, \d+ requests/s\n`).MatchString(out) || strings.Contains(out, "gwk_") {
				t.Errorf("it says %s", out)
			}
			prices := filepath.Join(dir, demo.PricesName)
			if out := good("ledger", "check", "--prices", prices); !strings.Contains(out, "300 requests that began") || !strings.Contains(out, "all is well") {
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
			if _, err := run(fill...); !errors.Is(err, errNotEmpty) {
				t.Errorf("a store in use: %v", err)
			}
			if after := good("usage", "--by", "model", "--format", "csv"); after != before {
				t.Errorf("it was changed: %s", after)
			}
			if err := os.WriteFile(prices, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			good(append(fill, "--add", "--seed=2")...)
			if out := good("ledger", "check"); !strings.Contains(out, "600 requests that began") {
				t.Error(out)
			}
			if out := good("audit", "verify"); !strings.Contains(out, "whole") {
				t.Error(out)
			}
			if out := good("keys", "list"); !strings.Contains(out, "web-chat-2") {
				t.Error(out)
			}
			if text, err := os.ReadFile(prices); err != nil || string(text) != "mine" {
				t.Errorf("a file was written over: %s, %v", text, err)
			}
		})
	}
}

// A store that has a key or a request of its own is not filled by mistake, and absurd figures are
// refused.
func TestDemoRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "keys", "create", "--group", "chat", "--name", "mine")
	if out, err := genway(t, dir, "demo"); !errors.Is(err, errNotEmpty) || out != "" {
		t.Errorf("%s, %v", out, err)
	}
	if out := must(t, dir, "keys", "list"); strings.Count(out, "key_") != 1 {
		t.Error(out)
	}
	for _, flag := range []string{
		"--requests=0", "--requests=-1", "--requests=20000001", "--requests=9007199254740993", "--requests=NaN", "--requests=", "--days=0", "--days=-1", "--days=367", "--seed=-1", "--seed=18446744073709551616",
		"--seed=x", "--end=tomorrow", "--end=2999-01-01", "--end=1970-01-02", "--end=", "--store=mysql://x",
	} {
		if out, err := genway(t, t.TempDir(), "demo", flag); err == nil || out != "" {
			t.Errorf("%s: %s, %v", flag, out, err)
		}
	}
}
