package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/genway/genway/test/bench/allocs"
)

// runAllocs compares what the hot stages allocate with the baseline, or writes it.
func runAllocs(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("allocs", stderr)
	source := flags.String("source", ".", "directory of Genway's repository")
	path := flags.String("baseline", "test/bench/allocs/baseline.txt", "file with the baseline")
	update := flags.Bool("update", false, "write the baseline instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	baseline := allocs.Figures{}
	if !*update {
		text, err := os.ReadFile(*path)
		if err != nil {
			return err
		}
		if baseline, err = allocs.ReadBaseline(text); err != nil {
			return err
		}
	}
	all := allocs.Figures{}
	var findings []allocs.Finding
	for _, suite := range allocs.Suites() {
		figures, err := suite.Run(ctx, *source)
		if err != nil {
			return err
		}
		found := allocs.Compare(figures, baseline, suite.Tolerance)
		// What else the machine does only adds, so growth is real if it is there each time.
		for range moreRuns {
			if *update || worse(found) == 0 {
				break
			}
			again, err := suite.Run(ctx, *source)
			if err != nil {
				return err
			}
			figures.Least(again)
			found = allocs.Compare(figures, baseline, suite.Tolerance)
		}
		maps.Copy(all, figures)
		findings = append(findings, found...)
	}
	if *update {
		return os.WriteFile(*path, all.Format(), 0o644) //nolint:gosec // A file of the repository.
	}
	findings = append(findings, allocs.Missing(all, baseline)...)
	for _, f := range findings {
		fmt.Fprintf(stdout, "%s: %s\n", f.Name, f.What)
	}
	fmt.Fprintf(stdout, "allocations of %d benchmarks compared with %s\n", len(all), *path)
	if worse(findings) > 0 {
		return errors.New("allocations grew; if that is meant, run make allocs-baseline and commit it")
	}
	return nil
}

// moreRuns is how often a suite runs again in which something grew.
const moreRuns = 3

// worse counts the findings that are no improvement.
func worse(findings []allocs.Finding) (n int) {
	for _, f := range findings {
		if !f.Better {
			n++
		}
	}
	return n
}
