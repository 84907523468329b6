package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/genway/genway/test/bench/overload"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/target"
)

func runOverload(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := newFlags("overload", stderr)
	config := overload.Config{Log: stderr}
	programs := flags.String("programs", "bin", "directory with genway, genway-core and genway-edge")
	targets := flags.String("targets", target.AllInOne+","+target.TwoProcesses, "targets, separated by commas")
	only := flags.String("only", "", "scenarios, separated by commas; all when empty")
	flags.Float64Var(&config.Times, "times", 5, "how many times the capacity is offered")
	flags.IntVar(&config.Connections, "connections", 1000, "connections that it is offered over")
	flags.DurationVar(&config.Deadline, "deadline", time.Second, "how long callers wait")
	flags.DurationVar(&config.Duration, "duration", 5*time.Second, "length of the overload")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if config.Targets, err = target.Named(strings.Split(*targets, ",")); err != nil {
		return err
	}
	cores, err := process.Cores()
	if err != nil {
		return err
	}
	if len(cores) < 2 {
		return errors.New("two cores are needed: one for the target, one for upstream and generator")
	}
	config.LoadCore, config.TargetCore = cores[0], cores[len(cores)-1]
	if config.Self, err = os.Executable(); err != nil {
		return err
	}
	if config.Programs, err = filepath.Abs(*programs); err != nil {
		return err
	}
	if config.Dir, err = os.MkdirTemp("", "genway-overload-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(config.Dir)) }()
	var rows []overload.Row
	for _, s := range overload.Scenarios() {
		if *only != "" && !strings.Contains(","+*only+",", ","+s.Name+",") {
			continue
		}
		for _, t := range config.Targets {
			row, err := overload.Run(ctx, config, t, s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", t.Name, s.Name, err)
			}
			rows = append(rows, row)
		}
	}
	overload.Print(stdout, config.Times, rows)
	return nil
}
