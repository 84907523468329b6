package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/genway/genway/test/bench/growth"
)

// grown are the things that growth is measured of, in the order of the tables.
var grown = []struct {
	name    string
	measure growth.Measure
}{
	{"keys", growth.Keys},
	{"routes", growth.Routes},
	{"limits", growth.Limits},
	{"ledger", growth.Ledger},
}

// runGrowth measures what grows with what an installation accumulates.
func runGrowth(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("growth", stderr)
	var names []string
	for _, g := range grown {
		names = append(names, g.name)
	}
	sizes := flags.String("sizes", "1,100,10000,1000000", "how many of each there are, in turn")
	of := flags.String("of", strings.Join(names, ","), "what is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var rows []growth.Row
	for _, g := range grown {
		if !strings.Contains(","+*of+",", ","+g.name+",") {
			continue
		}
		for size := range strings.SplitSeq(*sizes, ",") {
			n, err := strconv.ParseInt(size, 10, 64)
			if err != nil || n < 1 {
				return fmt.Errorf("growth: %q is no size: give numbers of 1 and more, as 1,100", size)
			}
			fmt.Fprintf(stderr, "%s: %d\n", g.name, n)
			row, err := measured(ctx, g.measure, n)
			if err != nil {
				return fmt.Errorf("growth: %d of %s: %w", n, g.name, err)
			}
			rows = append(rows, row)
		}
	}
	return growth.Print(stdout, rows)
}

// measured measures in a folder that is removed.
func measured(ctx context.Context, measure growth.Measure, n int64) (growth.Row, error) {
	dir, err := os.MkdirTemp("", "genway-growth-")
	if err != nil {
		return growth.Row{}, err
	}
	row, err := measure(ctx, dir, n)
	return row, errors.Join(err, os.RemoveAll(dir))
}
