//go:build unix

// Command serve runs a PostgreSQL server for tests of another module. It answers each
// line of its input with one line, "error: …" where that fails, and ends the server at
// the end of its input:
//
//	database   makes an empty database: its URL
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

	"github.com/genway/genway/internal/servertest"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	p, err := servertest.StartPostgres()
	if err != nil {
		return err
	}
	defer p.End()
	fmt.Fprintln(out, "ok")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := do(p, lines.Text())
		if err != nil {
			answer = "error: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}

func do(p *servertest.Postgres, command string) (answer string, err error) {
	switch command {
	case "database":
		name, err := p.Create(context.Background())
		return p.URL(name), err
	case "kill":
		p.Kill()
		return "ok", nil
	case "start":
		return "ok", p.Start()
	}
	return "", fmt.Errorf("no command %q", command)
}
