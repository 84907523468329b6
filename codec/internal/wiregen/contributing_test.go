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

// TestContributing applies the example of CONTRIBUTING.md to a copy of what it needs of the
// repository, generates, and looks for the member in what the codec reads and writes.
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
	added := 0
	for line := range strings.Lines(example) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			added++
		}
	}
	if added != 16 { // four lines of the member, two of dialects, a loss in each of three protocols, its name in four, a golden of three
		t.Errorf("the example adds %d lines", added)
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "buf.yaml", "buf.gen.yaml", "docs/carried.md", "proto", "gen", "codec", "protocol/spell", "tools/buf", "tools/plugins"} {
		copyTo(t, filepath.Join(dir, name), filepath.Join(root, name))
	}
	patch := filepath.Join(dir, "example.diff")
	if err := os.WriteFile(patch, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	// Hunks have one line ahead of the lines that they add, so that a line added behind it does not break
	// the example.
	run(t, dir, "git", "apply", "--unidiff-zero", patch)
	run(t, dir, "go", "tool", "-modfile=tools/buf/go.mod", "buf", "generate")
	run(t, dir, "go", "run", "./codec/internal/wiregen", "./codec/chat")
	run(t, dir, "go", "test", "./codec/chat", "-run", "TestRequests", "-update")
	run(t, dir, "go", "test", "./codec/chat", "-run", "TestRequests|TestHead|TestReads")
	run(t, dir, "go", "test", "./codec/carried", "-update")
	run(t, dir, "go", "test", "./protocol/spell", "-run", "TestEveryFieldHasAName")
	golden, err := os.ReadFile(filepath.Join(dir, "codec", "chat", "testdata", "request_mood.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(golden, []byte(`"mood": "calm"`)); n != 2 {
		t.Errorf("want the member once in canonical.json and once in out.json, found %d:\n%s", n, golden)
	}
}

// run runs a command in a folder.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Nothing that the tests of the repository are run with holds for those of the copy.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GIT_CEILING_DIRECTORIES="+dir)
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
