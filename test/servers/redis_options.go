//go:build unix

package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SecuredRedis starts a server for only this test that has TLS on a port of 127.0.0.1, and returns
// the port. The options name its certificate and whom it takes. The test's end ends it.
func SecuredRedis(tb testing.TB, options ...string) (port string) {
	tb.Helper()
	var err error
	for range tries {
		var r *Redis
		if port, err = freePort(); err != nil {
			break
		}
		if r, err = startRedis(append([]string{"--tls-port", port, "--bind", "127.0.0.1"}, options...)...); err == nil {
			tb.Cleanup(r.End)
			return port
		}
	}
	tb.Fatal(err)
	return ""
}

// tries is how often a server is started on other ports, where another program took the port
// between its choice and its use.
const tries = 5

// startOnPort starts a server on a free port of 127.0.0.1.
func startOnPort(options ...string) (r *Redis, port string, err error) {
	for range tries {
		if port, err = freePort(); err != nil {
			return nil, "", err
		}
		if r, err = startRedis(append([]string{"--port", port, "--bind", "127.0.0.1"}, options...)...); err == nil {
			return r, port, nil
		}
	}
	return nil, "", err
}

// freePort chooses a port which is free, as is the one 10,000 above it, where a node of a Cluster
// listens for the others.
func freePort() (string, error) {
	for range 1000 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		port := first.Addr().(*net.TCPAddr).Port
		free := false
		if port+10000 <= 65535 {
			if second, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+10000)); err == nil {
				free = second.Close() == nil
			}
		}
		if err := first.Close(); err != nil {
			return "", err
		}
		if free {
			return strconv.Itoa(port), nil
		}
	}
	return "", errors.New("no free port below 55536")
}

// client runs one command by the command line client of the server, and returns its answer.
func (r *Redis) client(args ...string) (string, error) {
	program := strings.TrimSuffix(r.program, "-server") + "-cli"
	out, err := exec.Command(program, append([]string{"-s", r.Socket()}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out)
	}
	return string(out), nil
}

// Command runs one command on the server, and returns its answer as the command line client prints
// it where its output is no terminal.
func (r *Redis) Command(args ...string) (string, error) {
	answer, err := r.client(args...)
	return strings.TrimSpace(answer), err
}

// await asks a server until its answer has the words want, for startWithin at most.
func (r *Redis) await(want string, args ...string) error {
	var last string
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // the server has no event to wait for
		answer, err := r.client(args...)
		if err == nil && strings.Contains(answer, want) {
			return nil
		}
		last = answer + fmt.Sprint(err)
	}
	return fmt.Errorf("%s: not %q after %s: %s", strings.Join(args, " "), want, startWithin, last)
}

// own returns a file in the server's directory to the user that the server runs as.
func (r *Redis) own(path string) error {
	if r.as == nil {
		return nil
	}
	return os.Chown(path, int(r.as.Uid), int(r.as.Gid))
}
