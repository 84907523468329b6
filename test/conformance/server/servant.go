package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// servant is a program with a server in it, as test/servers/serve. The server ends with the
// process that started it, however that ends.
type servant struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer

	mu     sync.Mutex // of one question at a time
	stdout *bufio.Reader
}

// startServant starts test/servers/serve. The test's end ends it.
func startServant(tb testing.TB, args ...string) *servant {
	tb.Helper()
	return startServantOf(tb, "./test/servers/serve", args...)
}

// startServantOf starts the program of a package. The test's end ends it.
func startServantOf(tb testing.TB, pkg string, args ...string) *servant {
	tb.Helper()
	path, err := binaries.build(pkg)
	if err != nil {
		tb.Fatal(err)
	}
	s := &servant{cmd: exec.Command(path, args...)}
	s.cmd.Stderr = &s.stderr
	stdin, inErr := s.cmd.StdinPipe()
	stdout, outErr := s.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		tb.Fatal(err)
	}
	s.stdin, s.stdout = stdin, bufio.NewReader(stdout)
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(s.stdin.Close(), s.cmd.Wait()); err != nil {
			tb.Errorf("%v: %v\n%s", s.cmd.Args, err, s.stderr.Bytes())
		}
	})
	if _, err := s.answer(); err != nil {
		tb.Fatalf("%v does not start: %v\n%s", s.cmd.Args, err, s.stderr.Bytes())
	}
	return s
}

// Kill ends the server at once; its connections break.
func (s *servant) Kill(tb testing.TB) {
	tb.Helper()
	s.ask(tb, "kill")
}

// Start starts it again.
func (s *servant) Start(tb testing.TB) {
	tb.Helper()
	s.ask(tb, "start")
}

func (s *servant) ask(tb testing.TB, command string) string {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprintln(s.stdin, command)
	answer := ""
	if err == nil {
		answer, err = s.answer()
	}
	if err != nil {
		tb.Fatalf("%s: %v", command, err)
	}
	return answer
}

func (s *servant) answer() (string, error) {
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\n")
	if failure, failed := strings.CutPrefix(line, "error: "); failed {
		return "", errors.New(failure)
	}
	return line, nil
}
