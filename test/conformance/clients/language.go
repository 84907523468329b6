package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// root is the repository, from this package's folder.
const root = "../../.."

// language is a client in docs/examples/.
type language struct {
	// dir is the client's folder in docs/examples/.
	dir string
	// run is the last command of its README, without what an earlier one has made already.
	run string
	// path is put before PATH: wrappers of the programs that the commands need and that a
	// machine may have under other names.
	path string
}

// golang is the client in Go. Nothing is missing for it where these tests run.
func golang() language { return language{dir: "client-go", run: "go run ."} }

// typescript is the client in TypeScript.
func typescript(t *testing.T) language {
	t.Helper()
	node, err := server.NodePath()
	if err != nil {
		t.Skip("SKIPPED: the client in TypeScript was not tested:", err)
	}
	return language{dir: "client-typescript", run: "node dist/client.js", path: wrappers(t, nil) + ":" + node}
}

// python is the client in Python.
func python(t *testing.T) language {
	t.Helper()
	interpreter, err := server.Python()
	if err != nil {
		t.Skip("SKIPPED: the client in Python was not tested:", err)
	}
	return language{dir: "client-python", run: "PYTHONPATH=gen python3 client.py", path: wrappers(t, map[string]string{"python3": interpreter})}
}

// java is the client in Java, by the packages of Debian.
func java(t *testing.T) language {
	t.Helper()
	for _, program := range []string{"javac", "protoc", "grpc_java_plugin"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("SKIPPED: the client in Java was not tested:", err)
		}
	}
	for _, library := range []string{"grpc-netty", "protobuf", "netty-transport", "perfmark-api", "guava", "gson", "geronimo-annotation-1.3-spec"} {
		if found, err := filepath.Glob("/usr/share/java/" + library + "*.jar"); err != nil || len(found) == 0 {
			t.Skip("SKIPPED: the client in Java was not tested: no " + library + " in /usr/share/java")
		}
	}
	return language{dir: "client-java", run: "java -cp 'classes:/usr/share/java/*' Client", path: wrappers(t, nil)}
}

// wrappers returns a folder of programs: the buf that `make gen` runs, and others by the
// command that each stands for.
func wrappers(t *testing.T, programs map[string]string) string {
	t.Helper()
	tools, err := filepath.Abs(filepath.Join(root, "test", "tools", "buf", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := map[string]string{"buf": "go tool -modfile='" + tools + "' buf"}
	for name, command := range programs {
		if all[name], err = exec.LookPath(command); err != nil {
			t.Fatal(err)
		}
	}
	for name, command := range all {
		script := "#!/bin/sh\nexec " + command + ` "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// commands returns the commands of the client's README as one script, which runs in the repository.
// What takes root is left out, and so is npm's where the packages are those of the lock file.
func (l language) commands(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(root, "docs", "examples", l.dir)
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	inside := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			inside = strings.HasPrefix(line, "```console")
		}
		command, shown := strings.CutPrefix(line, "$ ")
		if !inside || !shown || strings.HasPrefix(command, "sudo ") || command == "npm ci\n" && installed(dir) {
			continue
		}
		script.WriteString(command)
	}
	return script.String()
}

// installed reports whether npm has installed what the lock file of a folder says.
func installed(dir string) bool {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	packages, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil && !packages.ModTime().Before(lock.ModTime())
}
