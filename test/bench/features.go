package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/genway/genway/test/bench/report"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// runFeatures measures the CPU time that each feature costs a chat request. Each round runs every
// setting once.
func runFeatures(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := newFlags("features", stderr)
	o.register(flags)
	flags.IntVar(&o.rounds, "rounds", 24, "rounds; each runs every setting once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.targets == "" {
		var names []string
		for _, f := range target.Features() {
			names = append(names, f.Name)
		}
		o.targets = strings.Join(names, ",")
	}
	b, done, err := o.open(ctx, stderr)
	if err != nil {
		return err
	}
	run := func() error {
		if err := b.Startup(ctx, 1); err != nil {
			return err
		}
		return b.Rounds(ctx, report.GroupFeatures, []workload.Workload{workload.Chat1K()}, o.rounds, true)
	}
	if err := errors.Join(run(), done()); err != nil {
		return err
	}
	return printReport(stdout, o.results)
}
