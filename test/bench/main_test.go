package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The error of a wrong command lists the commands, and every command has help on its flags.
func TestUsage(t *testing.T) {
	var stdout, stderr strings.Builder
	if err := run(t.Context(), []string{"measure"}, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), `"measure"`) {
		t.Error(err)
	}
	for name := range commands {
		if !strings.Contains(stderr.String(), "bench "+name+" ") {
			t.Errorf("usage says nothing of %s", name)
		}
		var flags strings.Builder
		if err := run(t.Context(), []string{name, "-h"}, &stdout, &flags); !errors.Is(err, flag.ErrHelp) || !strings.Contains(flags.String(), "bench "+name) {
			t.Errorf("%s -h: %v, %q", name, err, flags.String())
		}
	}
}

// What cannot work is refused before anything is started.
func TestRefused(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct{ args, problem string }{
		{"run -targets envoy", "no such target: envoy"},
		{"run -only chat,nothing", "no such workload: nothing"},
		{"profile -only chat,nothing", "no such workload: nothing"},
		{"run -peers main.go", "main.go"},
		{"report", "name one file"},
		{"report /nonexistent", "/nonexistent"},
		{"load -connections 0", "at least one connection"},
		{"load -protocol soap", "no such protocol: soap"},
	} {
		if err := run(t.Context(), strings.Fields(c.args), &out, &out); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", c.args, err, c.problem)
		}
	}
}

// Results that were kept can be printed again.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	line := `{"time":"2026-01-01T00:00:00Z","kind":"startup","target":"nginx","round":0,"start_seconds":0.012,"binary_bytes":1200000}` + "\n"
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if err := run(t.Context(), []string{"report", path}, &stdout, &stderr); err != nil || !strings.Contains(stdout.String(), "| nginx | 12 | 1.2 |") {
		t.Errorf("%v\n%s", err, stdout.String())
	}
	if err := os.WriteFile(path, []byte(line+"{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"report", path}, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}
