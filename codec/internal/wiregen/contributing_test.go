package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// TestContributing applies the example of CONTRIBUTING.md, a setting that does not exist, to a copy of the
// repository and generates what follows from it. testdata/mood_test.go then asks the copy for the setting.
func TestContributing(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(guide), "```diff\n")
	example, _, ends := strings.Cut(example, "```")
	if !found || !ends {
		t.Fatal("CONTRIBUTING.md has no example")
	}
	if added := strings.Count(example, "\n+") - strings.Count(example, "\n+++"); added != 8 { // the field, its row of four lines, and a golden of three
		t.Errorf("the example adds %d lines", added)
	}
	dir := t.TempDir()
	for _, name := range []string{
		"go.mod", "go.sum", "buf.yaml", "buf.gen.yaml", "proto", "gen", "codec", "protocol", "core", "internal", "sandbox", "telemetry", "gateway", "test",
		"tools/buf", "tools/plugins", "docs", "deploy/prices",
	} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			copyTo(t, filepath.Join(dir, name), filepath.Join(root, name))
		}
	}
	patch := filepath.Join(dir, "example.diff")
	if err := os.WriteFile(patch, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	// Hunks have one line ahead of the lines that they add, so that a line added behind it does not break
	// the example.
	run(t, dir, "git", "apply", "--unidiff-zero", patch)
	run(t, dir, "go", "tool", "-modfile=tools/buf/go.mod", "buf", "generate")
	run(t, dir, "go", "run", "./codec/internal/wiregen", "-parameters", "core/config", "./codec/chat", "./codec/responses", "./codec/messages", "./codec/generatecontent")
	run(t, dir, "go", "run", "./gateway/openapi/generate", "gateway/openapi")
	run(t, dir, "go", "test", "-vet=off", "./codec/chat", "-run", "TestRequests", "-update")
	run(t, dir, "go", "test", "-vet=off", "./codec/chat", "-run", "TestRequests|TestHead|TestReads")
	run(t, dir, "go", "test", "-vet=off", "./codec/carried", "./core/config", "-run", "TestEachFieldIsCarriedLostOrRefused|TestSchemaIsFresh", "-update")
	for file, want := range map[string]struct {
		text  string
		times int
	}{
		"codec/chat/testdata/request_mood.txtar": {`"mood": "calm"`, 2}, // canonical.json and out.json
		"docs/carried.md":                        {"| `mood` | yes | yes | lost", 1},
		"core/config/schema.json":                {`"mood": {`, 1},
		"gateway/openapi/openapi.json":           {`"mood": {`, 2}, // chat completions, and text of responses
	} {
		have, err := os.ReadFile(filepath.Join(dir, file))
		if n := bytes.Count(have, []byte(want.text)); err != nil || n != want.times {
			t.Errorf("%s: want %d times %s, found %d (%v)", file, want.times, want.text, n, err)
		}
	}
	copyTo(t, filepath.Join(dir, "core", "explain", "mood_test.go"), filepath.Join("testdata", "mood_test.go"))
	run(t, dir, "go", "test", "-vet=off", "./core/explain", "-run", "TestMood")
}

// run runs a command in a folder.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // on a machine that is busy
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Nothing that the tests of the repository are run with holds for those of the copy. It is compiled as the
	// Makefile has it, so that it may use what was compiled for the repository.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -tags=grpcnotrace -buildvcs=false", "CGO_ENABLED=0", "GOWORK=off", "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the example of CONTRIBUTING.md fails at %s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// copyTo copies a file or a folder.
func copyTo(t *testing.T, to, from string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
