package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// ForeignCore is the kind under which AddForeignCore puts its server.
const ForeignCore = "core-python"

// AddForeignCore adds an edge in front of docs/examples/server-python/core.py, a core in another language
// that knows only the typed contract. It has the models and the keys of the sandbox. Where Python finds no
// interpreter, it says so and adds nothing.
func AddForeignCore(w *Ways) error {
	s := &Server{Keys: w.ByKind["sandbox"].Keys}
	groups := map[string]string{}
	for group, key := range s.Keys {
		groups[key] = group
	}
	keys, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	if _, missing := Python(); missing != nil {
		fmt.Fprintln(os.Stderr, "SKIPPED: no core in another language was tested:", missing)
		return nil
	}
	w.ByKind[ForeignCore] = s
	if s.Core, s.GRPC, err = StartPython("core.py", []string{"CORE_KEYS=" + string(keys)}, "sandbox-text", "sandbox-image"); err != nil {
		return err
	}
	s.Edge, err = StartProcess("genway-edge", slices.Concat([]string{"--core", s.GRPC, "--http", "127.0.0.1:0", "--log-format", "json"}, Options{}.encrypted(nil))...)
	if err != nil {
		return err
	}
	up, err := s.Edge.Await("edge is up")
	if err == nil {
		s.listens(up)
	}
	return err
}

// Python returns the first interpreter that has gRPC. The error says what is missing for the examples
// in Python, with what generates their messages.
func Python() (string, error) {
	for _, program := range []string{"protoc", "grpc_python_plugin"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	for _, interpreter := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(interpreter, "-c", "import grpc, google.protobuf").Run() == nil {
			return interpreter, nil
		}
	}
	return "", errors.New("no python3 has grpcio")
}

// generated makes the messages of docs/examples/server-python once.
var generated = sync.OnceValues(func() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "docs", "examples", "server-python")
	generate := exec.Command("go", "tool", "-modfile="+filepath.Join(root, "test", "tools", "buf", "go.mod"), "buf", "generate")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		return "", fmt.Errorf("buf generate: %w\n%s", err, out)
	}
	return dir, nil
})

// StartPython starts a server of docs/examples/server-python on a free port, with variables and arguments, and
// returns its address. Python must have found an interpreter.
func StartPython(file string, variables []string, args ...string) (*Process, string, error) {
	interpreter, err := Python()
	if err != nil {
		return nil, "", err
	}
	dir, err := generated()
	if err != nil {
		return nil, "", err
	}
	command := slices.Concat([]string{"PYTHONPATH=" + filepath.Join(dir, "gen")}, variables, []string{interpreter, filepath.Join(dir, file), "127.0.0.1:0"}, args)
	p, err := StartProgram(file, "env", command...)
	if err != nil {
		return nil, "", err
	}
	up, err := p.Await("core is up")
	return p, up["grpc"], err
}
