package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// bench builds and runs the tests of packages, as they are or broken.
type bench struct {
	// root is that of the repository, scratch a folder of the bench's own.
	root, scratch string
	// timeout is how long a package's tests may run. A mutant that makes them hang is
	// noticed when it is over.
	timeout time.Duration
}

// verdict is how the tests of a package ended.
type verdict struct {
	passed bool
	// first is the first test that failed, or why there is none.
	first string
	took  time.Duration
}

// quiet keeps pgregory.net/rapid from writing what it finds into the repository. Programs
// without it do not know the flag.
var quiet = []string{"-rapid.nofailfile"}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests of a package. The overlay names the files that stand for others; nil
// is none. The error is of what cannot be built: that says nothing of the tests.
func (b *bench) try(ctx context.Context, folder string, overlay map[string]string) (verdict, error) {
	program := filepath.Join(b.scratch, "package.test")
	args := []string{"test", "-c", "-o", program}
	if overlay != nil {
		text, err := json.Marshal(map[string]any{"Replace": overlay})
		if err != nil {
			return verdict{}, fmt.Errorf("write the overlay: %w", err)
		}
		file := filepath.Join(b.scratch, "overlay.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return verdict{}, fmt.Errorf("write the overlay: %w", err)
		}
		args = append(args, "-overlay", file)
	}
	build := exec.CommandContext(ctx, "go", append(args, "./"+folder)...) //nolint:gosec // folders of our own
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("build the tests of %s: %w\n%s", folder, err, out)
	}
	began := time.Now()
	// The tests have a deadline of their own, which says what hangs; this is behind it.
	ctx, cancel := context.WithTimeout(ctx, b.timeout+time.Minute)
	defer cancel()
	flags := []string{"-test.failfast", "-test.timeout=" + b.timeout.String()}
	if exec.CommandContext(ctx, program, slices.Concat(quiet, []string{"-test.list=^$"})...).Run() == nil { //nolint:gosec // just built
		flags = append(flags, quiet...)
	}
	run := exec.CommandContext(ctx, program, flags...) //nolint:gosec // just built
	run.Dir = filepath.Join(b.root, folder)
	out, err := run.CombinedOutput()
	v := verdict{passed: err == nil, took: time.Since(began)}
	var exit *exec.ExitError
	switch found := failed.FindSubmatch(out); {
	case err != nil && !errors.As(err, &exit):
		return verdict{}, fmt.Errorf("run the tests of %s: %w", folder, err)
	case found != nil:
		v.first = string(found[1])
	case bytes.Contains(out, []byte("panic: test timed out")):
		v.first = "the tests hang"
	case err != nil:
		v.first = "the tests end: " + err.Error()
	}
	return v, nil
}

// mutate runs the tests of a mutant's package against it.
func (b *bench) mutate(ctx context.Context, m *mutant) (verdict, error) {
	text, err := m.broken(b.root)
	if err != nil {
		return verdict{}, err
	}
	file := filepath.Join(b.scratch, "broken"+filepath.Ext(m.File))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return verdict{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	return b.try(ctx, m.folder(), map[string]string{filepath.Join(b.root, m.File): file})
}
