package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/store"
)

type partitionLedger struct {
	coreproc.Data
	DryRun bool `help:"Print the steps and what prevents them, and change nothing. Exits with 1 if anything prevents them."`
}

// errInTheWay is the error of a command that has printed what is in the way.
var errInTheWay = errors.New("the ledger cannot be partitioned as things are")

// Run makes the steps that are not made yet, and says which.
func (c *partitionLedger) Run(ctx context.Context, stdout io.Writer) error {
	location, err := c.Location()
	if err != nil {
		return err
	}
	if !store.IsPostgres(location) {
		return cli.UsageError{Err: errors.New("only a ledger in PostgreSQL is partitioned: give its URL by --store; SQLite's stays as it is")}
	}
	config := store.Config{Location: location}
	if c.DryRun {
		return c.plan(ctx, stdout, config)
	}
	begun, progress := time.Now(), cli.NewProgress()
	say := func(step string) {
		progress.Clear()
		fmt.Fprintf(stdout, "%6.1f s: %s\n", time.Since(begun).Seconds(), step)
	}
	err = store.PartitionLedger(ctx, config, begun, say, func(done, total int64) { progress.Report(done, total, "parts of the index are made") })
	progress.Clear()
	if err != nil {
		return err
	}
	found, err := store.InspectPartitioning(ctx, config, begun)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "The ledger is partitioned by day, and has %d partitions.\n", len(found.Partitions))
	return err
}

// plan prints what Run would do.
func (c *partitionLedger) plan(ctx context.Context, stdout io.Writer, config store.Config) error {
	found, err := store.InspectPartitioning(ctx, config, time.Now())
	if err != nil {
		return err
	}
	if len(found.Partitions) > 0 {
		fmt.Fprintf(stdout, "The ledger is partitioned by day, and has %d partitions:\n", len(found.Partitions))
		for _, name := range found.Partitions {
			fmt.Fprintf(stdout, "  %s\n", name)
		}
		return nil
	}
	fmt.Fprintf(stdout, "The ledger has about %d rows and takes %d MB. To do:\n", found.Rows, found.Bytes/1_000_000)
	for _, step := range found.Steps {
		fmt.Fprintf(stdout, "  %s\n", step)
	}
	if len(found.Obstacles) == 0 {
		return nil
	}
	fmt.Fprintln(stdout, "In the way:")
	for _, obstacle := range found.Obstacles {
		fmt.Fprintf(stdout, "  %s\n", plainLine(obstacle))
	}
	return errInTheWay
}
