package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// NodePath returns the folder of a Node.js of version 20 or later, which has npm in the same folder or
// on PATH: the one on PATH, or the one that test/scripts/test-deps has put into the user's cache. A caller
// puts the folder before PATH. The error says what is missing.
func NodePath() (string, error) {
	folder, missing := modernNode("node", "npm")
	if missing == nil {
		return folder, nil
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	bin := filepath.Join(cache, "genway", "node", "node_modules", ".bin")
	if folder, err := modernNode(filepath.Join(bin, "node"), filepath.Join(bin, "npm")); err == nil {
		return folder, nil
	}
	return "", missing
}

// modernNode returns the folder of node, if it is of version 20 or later and npm exists.
func modernNode(node, npm string) (string, error) {
	node, err := exec.LookPath(node)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath(npm); err != nil {
		return "", err
	}
	const modern = "process.exit(process.versions.node.split('.')[0] >= 20 ? 0 : 1)"
	err = exec.Command(node, "-e", modern).Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%s is older than Node.js 20: `make test-deps` installs a newer one", node)
	}
	return filepath.Dir(node), err
}
