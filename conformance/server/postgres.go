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

// Postgres is a PostgreSQL server of the tests' own, run by internal/servertest/serve.
// It ends with the process that started it, however that ends.
type Postgres struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer

	mu     sync.Mutex // of one question at a time
	stdout *bufio.Reader
}

// StartPostgres starts a server. The test's end ends it.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	p, err := startPostgres()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.stop(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func startPostgres() (*Postgres, error) {
	path, err := binaries.build("./internal/servertest/serve")
	if err != nil {
		return nil, err
	}
	p := &Postgres{cmd: exec.Command(path)}
	p.cmd.Stderr = &p.stderr
	stdin, inErr := p.cmd.StdinPipe()
	stdout, outErr := p.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.answer(); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *Postgres) stop() error {
	if err := errors.Join(p.stdin.Close(), p.cmd.Wait()); err != nil {
		return fmt.Errorf("PostgreSQL: %w\n%s", err, p.stderr.Bytes())
	}
	return nil
}

// Database makes an empty database and gives its URL, a Data of Options.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	return p.ask(tb, "database")
}

// Kill ends the server at once; its connections break.
func (p *Postgres) Kill(tb testing.TB) {
	tb.Helper()
	p.ask(tb, "kill")
}

// Start starts it again.
func (p *Postgres) Start(tb testing.TB) {
	tb.Helper()
	p.ask(tb, "start")
}

func (p *Postgres) ask(tb testing.TB, command string) string {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintln(p.stdin, command)
	answer := ""
	if err == nil {
		answer, err = p.answer()
	}
	if err != nil {
		tb.Fatalf("PostgreSQL: %s: %v", command, err)
	}
	return answer
}

func (p *Postgres) answer() (string, error) {
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\n")
	if failure, failed := strings.CutPrefix(line, "error: "); failed {
		return "", errors.New(failure)
	}
	return line, nil
}
