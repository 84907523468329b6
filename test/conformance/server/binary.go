package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// buildTimeout bounds a build without any cache, on a slow machine.
const buildTimeout = 10 * time.Minute

// Binary builds one of the commands (genway, genway-core, genway-edge), once per
// test process, and returns the file's path, which stays as it is if the source changes. Under the race detector the command has
// it too: a race makes the command exit with a code other than 0.
//
// From then on GENWAY_CONSOLE is off for the programs that this process starts, unless its own
// environment has it: servers that run at once would take the console's port from each other.
func Binary(name string) (string, error) {
	if _, set := os.LookupEnv("GENWAY_CONSOLE"); !set {
		if err := os.Setenv("GENWAY_CONSOLE", "off"); err != nil {
			return "", err
		}
	}
	return binaries.build("./cmd/" + name)
}

// Output runs a command to its end and returns its standard output. An exit code other
// than 0 is an error that carries the standard error.
func Output(name string, args ...string) (string, error) {
	path, err := Binary(name)
	if err != nil {
		return "", err
	}
	return OutputOf(name, path, args...)
}

// OutputOf does so with the program of a file, which failures name.
func OutputOf(name, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %v: %w\n%s", name, args, err, stderr.Bytes())
	}
	return stdout.String(), nil
}

var binaries builds

type builds struct {
	mu  sync.Mutex
	dir string
}

func (b *builds) build(pkg string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	root, err := repository()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(root, "bin", "conformance")
	if b.dir == "" {
		if err := os.MkdirAll(kept, 0o750); err != nil {
			return "", err
		}
		if b.dir, err = os.MkdirTemp(kept, "process-"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(b.dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, link(root, pkg, kept, path)
}

// link makes path the program of a package, as it is now. The program is kept for other
// processes: the go command links it again only where something has changed.
func link(root, pkg, kept, path string) (err error) {
	lock, err := os.Create(filepath.Join(kept, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	program := filepath.Join(kept, filepath.Base(pkg))
	// As the Makefile has it, so that nothing is compiled twice.
	args := []string{"build", "-trimpath", "-tags=grpcnotrace"}
	environment := os.Environ()
	if race {
		program += ".race"
		args = append(args, "-race", "-gcflags=modernc.org/sqlite/lib=-race=false")
	} else {
		environment = append(environment, "CGO_ENABLED=0")
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", program, pkg)...)
	cmd.Dir, cmd.Env = root, environment
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return os.Link(program, path)
}

func (b *builds) remove() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	dir := b.dir
	b.dir = ""
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// repository is the root of the repository: the nearest directory above the test's
// own that holds the commands.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "genway")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no directory above %s holds cmd/genway", dir)
		}
		dir = parent
	}
}
