//go:build unix

package servers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Redis is a Redis server, or a Valkey server, which speaks the same.
type Redis struct {
	program, dir string
	as           *syscall.Credential
	options      []string
	process      *process
}

// SharedRedis is the server that the package's tests share. They keep out of each other's way by
// names that begin with {NAME} or {NAME/, where NAME is the test's. The test's end deletes those, so
// that a test which runs again finds none.
func SharedRedis(tb testing.TB) *Redis {
	tb.Helper()
	r := sharedRedis(tb)
	tb.Cleanup(func() {
		if _, err := r.Command("EVAL", deleteOf, "0", "{"+tb.Name()); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// deleteOf deletes the names that begin with an argument, as a whole part of a test's name.
const deleteOf = `for _, key in ipairs(redis.call('KEYS', '*')) do
	local n = #ARGV[1]
	local after = key:sub(n + 1, n + 1)
	if key:sub(1, n) == ARGV[1] and (after == '}' or after == '/') then
		redis.call('DEL', key)
	end -- other tests keep theirs
end`

func sharedRedis(tb testing.TB) *Redis {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.redis == nil {
		r, err := StartRedis()
		if err != nil {
			tb.Fatal(err)
		}
		shared.redis = r
	}
	return shared.redis
}

// NewRedis starts a server for only this test, which may kill it. The test's end ends
// it.
func NewRedis(tb testing.TB) *Redis {
	tb.Helper()
	r, err := StartRedis()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.End)
	return r
}

// StartRedis starts a server. The caller ends it.
func StartRedis() (*Redis, error) { return startRedis() }

func startRedis(options ...string) (*Redis, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	dir, as, err := directory("redis")
	if err != nil {
		return nil, err
	}
	r := &Redis{program: program, dir: dir, as: as, options: options}
	if err := r.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

func redisProgram() (string, error) {
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither Redis' server nor Valkey's is installed: run `make test-deps`")
}

// Start starts the server, again after Kill: it keeps nothing.
func (r *Redis) Start() error {
	process, err := start(r.dir, r.as, "eady to accept connections", r.program, append([]string{
		"--port", "0", "--unixsocket", r.Socket(), "--unixsocketperm", "777", "--dir", r.dir, "--save", "", "--appendonly", "no",
	}, r.options...)...)
	if err == nil {
		r.process = process
	}
	return err
}

// Socket is the path of the server's unix socket.
func (r *Redis) Socket() string { return filepath.Join(r.dir, "s") }

// URL is the server's, as clients take it: unix:///PATH.
func (r *Redis) URL() string { return "unix://" + r.Socket() }

// Kill ends the server at once; its connections break.
func (r *Redis) Kill() { r.process.signal(syscall.SIGKILL) }

// End ends the server for good.
func (r *Redis) End() {
	r.Kill()
	_ = os.RemoveAll(r.dir) // what is left is the system's to sweep
}
