package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", "", "run the mutants whose names match this `expression`")
	list := flag.Bool("list", false, "list the mutants and run none")
	flag.Parse()
	mutants, err := chosen(*only)
	switch {
	case err != nil:
	case *list:
		for _, m := range mutants {
			fmt.Fprintf(os.Stdout, "%s  %s\n    %s\n", m.Name, m.File, m.Breaks)
		}
	default:
		err = run(os.Stdout, mutants)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run breaks the repository in each of the ways, and says how each ended.
func run(out io.Writer, mutants []mutant) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/genway/genway").Output()
	if err != nil {
		return fmt.Errorf("find the root of the repository: %w", err)
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b := &bench{root: strings.TrimSpace(string(root)), scratch: scratch, timeout: 3 * time.Minute}
	sound := map[string]bool{}
	survivors := 0
	for i := range mutants {
		m := &mutants[i]
		// Tests that fail by themselves kill everything.
		if folder := m.folder(); !sound[folder] {
			v, err := b.try(ctx, folder, nil)
			if err != nil {
				return err
			}
			if !v.passed {
				return fmt.Errorf("the tests of %s fail before anything is broken: %s", folder, v.first)
			}
			sound[folder] = true
		}
		v, err := b.mutate(ctx, m)
		if err != nil {
			return err
		}
		if v.passed {
			survivors++
			fmt.Fprintf(out, "SURVIVES  %-36s %s: %s\n", m.Name, m.File, m.Breaks)
			continue
		}
		fmt.Fprintf(out, "killed    %-36s by %s, %s, in %.1f s\n", m.Name, m.folder(), v.first, v.took.Seconds())
	}
	if survivors > 0 {
		return fmt.Errorf("%d of %d mutants survive: no test of their packages notices", survivors, len(mutants))
	}
	fmt.Fprintf(out, "all %d mutants are killed\n", len(mutants))
	return nil
}

// chosen returns the mutants whose names match an expression.
func chosen(only string) ([]mutant, error) {
	mutants, err := parse(embedded)
	if err != nil {
		return nil, err
	}
	expression, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var some []mutant
	for _, m := range mutants {
		if expression.MatchString(m.Name) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil, errors.New("no mutant's name matches " + only)
	}
	return some, nil
}
