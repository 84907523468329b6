//go:build unix

// Command serve runs a PostgreSQL server for tests of another module, or with the argument
// redis a Redis server. Once it runs it says ok. It answers each line of its input with
// one line, "error: …" where that fails, and ends the server at the end of its input:
//
//	database   makes an empty database: its URL; of Redis the server's
//	kill       ends the server at once, as by `pg_ctl stop -m immediate`: ok
//	start      starts it again: ok
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/genway/genway/test/servers"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server is what can be asked of either.
type server struct {
	database  func() (string, error)
	start     func() error
	kill, end func()
}

func open(args []string) (server, error) {
	if len(args) == 1 && args[0] == "redis" {
		r, err := servers.StartRedis()
		if err != nil {
			return server{}, err
		}
		return server{func() (string, error) { return r.URL(), nil }, r.Start, r.Kill, r.End}, nil
	}
	p, err := servers.StartPostgres()
	if err != nil {
		return server{}, err
	}
	database := func() (string, error) {
		name, err := p.Create(context.Background())
		return p.URL(name), err
	}
	return server{database, p.Start, p.Kill, p.End}, nil
}

func run(args []string, in io.Reader, out io.Writer) error {
	s, err := open(args)
	if err != nil {
		return err
	}
	defer s.end()
	fmt.Fprintln(out, "ok")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := s.do(lines.Text())
		if err != nil {
			answer = "error: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}

func (s server) do(command string) (answer string, err error) {
	switch command {
	case "database":
		return s.database()
	case "kill":
		s.kill()
		return "ok", nil
	case "start":
		return "ok", s.start()
	}
	return "", fmt.Errorf("no command %q", command)
}
