package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// NodeCore is the kind under which AddNodeCore puts its server.
const NodeCore = "core-node"

// AddNodeCore adds an edge in front of docs/examples/core-node, a core in another language that knows
// only the typed contract. It has the models and the keys of the sandbox. Where
// NodePath finds none, or the packages of the example cannot be installed, it says so and adds nothing.
func AddNodeCore(w *Ways) error {
	dir, path, err := nodePackages()
	if err != nil {
		fmt.Fprintln(os.Stderr, "SKIPPED: no core in another language was tested:", err)
		return nil
	}
	s := &Server{Keys: w.ByKind["sandbox"].Keys}
	w.ByKind[NodeCore] = s
	groups := map[string]string{}
	for group, key := range s.Keys {
		groups[key] = group
	}
	keys, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	s.Core, err = StartProgram(NodeCore, "env", "CORE_KEYS="+string(keys), path, "node", filepath.Join(dir, "core.mjs"), "127.0.0.1:0", "sandbox-text", "sandbox-image")
	if err != nil {
		return err
	}
	up, err := s.Core.Await("core is up")
	if err != nil {
		return err
	}
	s.GRPC = up["grpc"]
	s.Edge, err = StartProcess("genway-edge", slices.Concat([]string{"--core", s.GRPC, "--http", "127.0.0.1:0", "--log-format", "json"}, Options{}.encrypted(nil))...)
	if err != nil {
		return err
	}
	if up, err = s.Edge.Await("edge is up"); err == nil {
		s.listens(up)
	}
	return err
}

// nodePackages returns the folder of the example, with its packages installed, and the variable PATH
// that its programs are found by.
func nodePackages() (dir, path string, err error) {
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(root, "docs", "examples", "core-node")
	bin, err := NodePath()
	if err != nil {
		return "", "", err
	}
	path = pathAhead(bin)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil {
		return dir, path, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	install := exec.Command("env", path, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, path, nil
}
