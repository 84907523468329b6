package contributing

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

const root = "../.."

// edited copies files and folders of the repository, and applies the example below a heading of a guide, whose
// lines are so many.
func edited(t *testing.T, file, heading string, added int, names ...string) (dir string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(guide), "\n## "+heading+"\n")
	_, example, begins := strings.Cut(section, "```diff\n")
	example, _, ends := strings.Cut(example, "```")
	if !found || !begins || !ends {
		t.Fatalf("%s has no example below %q", file, heading)
	}
	if n := strings.Count(example, "\n+") - strings.Count(example, "\n+++"); n != added {
		t.Errorf("the example adds %d lines", n)
	}
	dir = t.TempDir()
	for _, name := range append([]string{
		"go.mod", "go.sum", "buf.yaml", "buf.gen.yaml", "proto", "gen", "codec", "protocol", "core", "internal", "sandbox", "telemetry", "gateway", "test", "docs",
	}, names...) {
		copyTo(t, filepath.Join(dir, name), filepath.Join(root, name))
	}
	patch := filepath.Join(dir, "example.diff")
	if err := os.WriteFile(patch, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	// Hunks have one line before the lines that they add, so that a line added after it does not break
	// the example.
	run(t, dir, "git", "apply", "--unidiff-zero", patch)
	return dir
}

// codecs are the packages whose structs have generated code, as `make gen` has them.
func codecs(t *testing.T) []string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(makefile), "\nWIRES := ")
	list, _, ends := strings.Cut(list, "\n")
	if !found || !ends {
		t.Fatal("the Makefile has no WIRES")
	}
	return strings.Fields(list)
}

// TestSetting adds a setting that does not exist and generates what follows from it. testdata/mood_test.go then asks the
// copy for the setting.
func TestSetting(t *testing.T) {
	// The field with its comment, its row of four lines, and a golden of three.
	dir := edited(t, "CONTRIBUTING.md", "Example: a new setting", 9)
	run(t, dir, "go", "tool", "-modfile=test/tools/buf/go.mod", "buf", "generate")
	run(t, dir, "go", append([]string{"run", "./codec/internal/wiregen", "-parameters", "core/config"}, codecs(t)...)...)
	run(t, dir, "go", "run", "./gateway/openapi/generate", "gateway/openapi")
	run(t, dir, "go", "test", "-vet=off", "./codec/chat", "-run", "TestRequests", "-update")
	run(t, dir, "go", "test", "-vet=off", "./codec/chat", "-run", "TestRequests|TestHead|TestReads")
	run(t, dir, "go", "test", "-vet=off", "./codec/carried", "./core/config", "-run", "TestEachFieldIsCarriedLostOrRefused|TestSchemaIsFresh", "-update")
	wrote(t, dir, map[string]written{
		"codec/chat/testdata/request_mood.txtar": {`"mood": "calm"`, 2}, // canonical.json and out.json
		"docs/reference/carried.md":              {"| `mood` | yes | yes | lost", 1},
		"core/config/schema.json":                {`"mood": {`, 1},
		"gateway/openapi/openapi.json":           {`"mood": {`, 2}, // chat completions, and text of responses
	})
	copyTo(t, filepath.Join(dir, "core", "explain", "mood_test.go"), filepath.Join("testdata", "mood_test.go"))
	run(t, dir, "go", "test", "-vet=off", "./core/explain", "-run", "TestMood")
}

// TestLimit adds a kind of limit that does not exist. The tests of each limit then hold for it, in the stores and in the
// console, and testdata/images_test.go asks a gateway of the copy for images.
func TestLimit(t *testing.T) {
	dir := edited(t, "docs/extending.md", "A kind of limit", 17, "cmd", "console")
	edits := strings.Split(strings.TrimSpace(run(t, dir, "git", "apply", "--unidiff-zero", "--numstat", "-R", "example.diff")), "\n")
	if len(edits) > 8 {
		t.Errorf("the example edits %d files", len(edits))
	}
	run(t, dir, "go", "tool", "-modfile=test/tools/buf/go.mod", "buf", "generate", "--clean=false", "--path", "proto/genway/admin/v1/key.proto", "proto")
	copyTo(t, filepath.Join(dir, "cmd", "genway", "images_test.go"), filepath.Join("testdata", "images_test.go"))
	run(t, dir, "go", "test", "-vet=off", "./core/config", "./core/limit", "-run", "TestSchemaIsFresh|TestDocs|TestMemory", "-update")
	run(t, dir, "go", "test", "-vet=off", "./console", "./cmd/genway", "-run", "TestEachLimit|TestImagesPerMinute")
	wrote(t, dir, map[string]written{
		"docs/access.md":          {"| `images_per_minute` |", 1},
		"core/config/schema.json": {`"images_per_minute": {`, 3}, // of keys, of owners and of models
	})
}

// written is a text, and how often a file has it.
type written struct {
	text  string
	times int
}

// wrote looks for what was generated in files of a copy.
func wrote(t *testing.T, dir string, files map[string]written) {
	t.Helper()
	for file, want := range files {
		have, err := os.ReadFile(filepath.Join(dir, file))
		if n := bytes.Count(have, []byte(want.text)); err != nil || n != want.times {
			t.Errorf("%s: want %d times %s, found %d (%v)", file, want.times, want.text, n, err)
		}
	}
}

// run runs a command in a folder and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // on a machine that is busy
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Nothing that the tests of the repository are run with holds for those of the copy. It is compiled as the
	// Makefile has it, so that it may use what was compiled for the repository.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -tags=grpcnotrace -buildvcs=false", "CGO_ENABLED=0", "GOWORK=off", "GIT_CEILING_DIRECTORIES="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the example fails at %s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
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
