package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/viewer"
)

// runViewer measures what viewers of the console's live tail cost.
func runViewer(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := newFlags("viewer", stderr)
	config := viewer.Config{Log: stderr}
	programs := flags.String("programs", "bin", "directory with genway")
	flags.Float64Var(&config.Rate, "rate", 500, "requests a second")
	flags.IntVar(&config.Viewers, "viewers", 1, "how many follow the live tail")
	flags.IntVar(&config.Turns, "turns", 12, "how often each is measured, with viewers and without")
	flags.DurationVar(&config.Duration, "duration", 5*time.Second, "how long each time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if config.Turns < 1 || config.Viewers < 1 {
		return errors.New("viewer: -turns and -viewers are 1 at least")
	}
	cores, err := process.Cores()
	if err != nil {
		return err
	}
	config.LoadCore, config.TargetCore = cores[0], cores[len(cores)-1]
	if config.Self, err = os.Executable(); err != nil {
		return err
	}
	if config.Programs, err = filepath.Abs(*programs); err != nil {
		return err
	}
	if config.Dir, err = os.MkdirTemp("", "genway-viewer-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(config.Dir)) }()
	result, err := viewer.Run(ctx, config)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	idle, watched := viewer.Median(result.Idle), viewer.Median(result.Watched)
	_, err = fmt.Fprintf(stdout, "| requests a second | viewers | nobody looks, %% of a core | watched, %% of a core | a viewer costs, %% of a core | requests shown to a viewer, %% |\n|---:|---:|---:|---:|---:|---:|\n| %.0f | %d | %.2f | %.2f | %.2f | %.1f |\n",
		config.Rate, config.Viewers, 100*idle, 100*watched, 100*(watched-idle)/float64(config.Viewers), 100*float64(result.Rows)/float64(result.Requests)/float64(config.Viewers))
	return err
}
