package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pkg is what the rules need of the output of `go list -json`.
type pkg struct {
	ImportPath string
	Doc        string
	Imports    []string
	Standard   bool
	Module     *struct {
		Path string
		Main bool
	}
}

// module is the packages of this module and all they depend on, tests aside.
type module struct {
	path     string
	own      []pkg
	packages map[string]pkg
}

// load asks the go command about the module this test lies in. A package that
// does not load (-e) is its own build's to report, and does not hide the others.
func load(t *testing.T) module {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-C", "../..", "-e", "-deps",
		"-json=ImportPath,Doc,Imports,Standard,Module", "./...")
	list.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}

	m := module{packages: map[string]pkg{}}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		m.packages[p.ImportPath] = p
		if p.Module != nil && p.Module.Main {
			m.path = p.Module.Path
			m.own = append(m.own, p)
		}
	}
	if len(m.own) == 0 {
		t.Fatal("go list reports no package of this module")
	}
	return m
}

// broken returns, for each package that pkg may not reach, one shortest chain of
// imports that reaches it, from pkg to the package itself.
func (m module) broken(r rule, start pkg) [][]string {
	var chains [][]string
	seen := map[string]bool{start.ImportPath: true}
	for queue := [][]string{{start.ImportPath}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		last := chain[len(chain)-1]
		if len(chain) > 1 {
			if m.forbidden(r, last) {
				chains = append(chains, chain)
				continue
			}
			if m.matches(r.opaque, last) {
				continue
			}
		}
		for _, next := range m.packages[last].Imports {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, append(slices.Clone(chain), next))
			}
		}
	}
	return chains
}

func (m module) forbidden(r rule, path string) bool {
	if m.matches(r.never, path) {
		return true
	}
	return r.ours != nil && m.matches([]string{"./..."}, path) && !m.matches(r.ours, path)
}

func (m module) matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(m.absolute(pattern), "/...")
		return path == prefix || below && strings.HasPrefix(path, prefix+"/")
	})
}

// absolute turns a path relative to the module into an import path.
func (m module) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "./"); ok {
		return m.path + "/" + rest
	}
	return path
}
