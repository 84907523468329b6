package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/test/bench/profile"
	"github.com/genway/genway/test/bench/report"
	"github.com/genway/genway/test/bench/workload"
)

func runProfile(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{targets: "genway,genway-two"}
	flags := newFlags("profile", stderr)
	source := flags.String("source", ".", "directory of Genway's repository")
	only := flags.String("only", "chat,chat>messages,stream,paced,prompt200k,image-in,image-out", "workloads, separated by commas")
	keep := flags.String("keep", "bin/profiles", "directory that the profiles are left in, for go tool pprof")
	flags.DurationVar(&o.duration, "duration", 3*time.Second, "length of a run")
	flags.DurationVar(&o.warm, "warm", 300*time.Millisecond, "requests ahead of a run that are not profiled")
	if err := flags.Parse(args); err != nil {
		return err
	}
	workloads, err := profiled(*only)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(*source)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(*keep)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o750)); err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "genway-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	if err := profile.Build(ctx, root, programs); err != nil {
		return err
	}
	o.programs = programs
	b, done, err := o.open(ctx, stderr)
	if err != nil {
		return err
	}
	var columns []report.Shares
	for _, w := range workloads {
		shares, err := b.Profile(ctx, w, dir)
		if err != nil {
			return errors.Join(err, done())
		}
		columns = append(columns, report.Shares{Workload: w.Name, ByTarget: shares})
	}
	report.Stages(stdout, columns)
	return done()
}

// profiled are the named workloads, of the main ones and the pairs, unary and streams.
func profiled(names string) (chosen []workload.Workload, err error) {
	all := slices.Concat(workload.Main(), workload.Pairs()[1:], workload.StreamPairs()[1:])
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(w workload.Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no such workload: %s", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
