//go:build openresponses

package openresponses

import (
	"os"
	"os/exec"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// TestSuite runs the compliance suite of the folder OPENRESPONSES against the sandbox and
// against the sandbox behind each kind of upstream. It copies the folder and installs what
// the suite needs with npm.
func TestSuite(t *testing.T) {
	suite := os.Getenv("OPENRESPONSES")
	if suite == "" {
		t.Fatal("OPENRESPONSES names no folder")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(suite)); err != nil {
		t.Fatal(err)
	}
	in := func(t *testing.T, command ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	in(t, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
	for _, kind := range append(server.Kinds(), "sandbox") {
		t.Run(kind, func(t *testing.T) {
			g := ways.ByKind[kind]
			in(t, "npx", "bun", "run", "bin/compliance-test.ts", "-u", g.URL()+"/v1", "-k", g.Keys["chat"], "-m", model)
		})
	}
}
