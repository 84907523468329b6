// Package interactions drives a running gateway with the SDKs of interactions that npm has, unmodified: @google/genai, and the
// AI SDK with @ai-sdk/google. Without Node.js it is skipped, and says so.
package interactions

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// patience bounds the script, with what it installs, on a loaded machine.
const patience = 5 * time.Minute

func TestSDKs(t *testing.T) {
	node, err := server.NodePath()
	if err != nil {
		t.Skip("SKIPPED: the SDKs of npm were not tested:", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "interactions.mjs"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euc", "npm install --no-audit --no-fund --loglevel=error >&2; exec node interactions.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+node+":"+os.Getenv("PATH"), "GENWAY="+gateway.URL(), "GENWAY_KEY="+gateway.Keys["generatecontent"])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
