package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Node.js is the one on PATH, and where that is old or missing the one in the cache. Neither counts
// without npm.
func TestNodePath(t *testing.T) {
	const modern, old = "#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 1\n"
	for name, c := range map[string]struct {
		path, cache map[string]string
		want, says  string
	}{
		"nothing":                 {nil, nil, "", "executable file not found"},
		"on PATH":                 {map[string]string{"node": modern, "npm": ""}, nil, "path", ""},
		"on PATH, without npm":    {map[string]string{"node": modern}, nil, "", `"npm": executable file not found`},
		"old":                     {map[string]string{"node": old, "npm": ""}, nil, "", "make test-deps"},
		"PATH before cache":       {map[string]string{"node": modern, "npm": ""}, map[string]string{"node": modern, "npm": ""}, "path", ""},
		"old, and cached":         {map[string]string{"node": old, "npm": ""}, map[string]string{"node": modern, "npm": ""}, "cache", ""},
		"missing, and cached":     {nil, map[string]string{"node": modern, "npm": ""}, "cache", ""},
		"cached, without npm":     {map[string]string{"npm": ""}, map[string]string{"node": modern}, "", `"node": executable file not found`},
		"old, and an old in both": {map[string]string{"node": old, "npm": ""}, map[string]string{"node": old, "npm": ""}, "", "older than Node.js 20"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folders := map[string]string{"path": filepath.Join(dir, "bin"), "cache": filepath.Join(dir, "genway", "node", "node_modules", ".bin")}
			for folder, programs := range map[string]map[string]string{folders["path"]: c.path, folders["cache"]: c.cache} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				for program, script := range programs {
					if err := os.WriteFile(filepath.Join(folder, program), []byte(script), 0o700); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, xdg := range []string{dir, ""} {
				t.Setenv("PATH", folders["path"])
				t.Setenv("XDG_CACHE_HOME", xdg)
				if xdg == "" {
					t.Setenv("HOME", dir)
					if err := os.Symlink(dir, filepath.Join(dir, ".cache")); err != nil {
						t.Fatal(err)
					}
				}
				got, err := NodePath()
				if c.says != "" {
					if err == nil || !strings.Contains(err.Error(), c.says) {
						t.Errorf("%q, %v; want %q", got, err, c.says)
					}
					continue
				}
				if err != nil || strings.Replace(got, filepath.Join(dir, ".cache"), dir, 1) != folders[c.want] {
					t.Errorf("%q, %v; want %q", got, err, folders[c.want])
				}
			}
		})
	}
}
