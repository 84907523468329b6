package profile

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Env names the file that a command built here writes its profile to.
const Env = "GENWAY_CPU_PROFILE"

//go:embed signal.go.txt
var onSignal []byte

// Build builds the commands of the repository at root into dir, each with the file
// that profiles it. The repository is not touched.
func Build(ctx context.Context, root, dir string) error {
	added := filepath.Join(dir, "signal.go")
	if err := os.WriteFile(added, onSignal, 0o600); err != nil {
		return err
	}
	replace := map[string]string{}
	for _, command := range []string{"genway", "genway-core", "genway-edge"} {
		replace[filepath.Join(root, "cmd", command, "profile_on_signal.go")] = added
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	//nolint:gosec // The go command, on the user's own source.
	build := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-ldflags=-s -w", "-overlay", file, "-o", dir+"/", "./cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", build, err, output)
	}
	return nil
}
