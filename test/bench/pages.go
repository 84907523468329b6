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

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/bench/pages"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/servers"
)

// runPages measures the console's pages on a large ledger, on each kind of store.
func runPages(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("pages", stderr)
	rows := flags.Int64("rows", 10_000_000, "rows of the ledger")
	times := flags.Int("times", 40, "how often each page is asked for")
	on := flags.String("on", "sqlite,postgres", "the kinds of store")
	kept := flags.String("at", "", "a file that was filled before or is to be kept, in place of one of its own; -on sqlite alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Hour)
	for kind := range strings.SplitSeq(*on, ",") {
		location, end, err := locationOf(ctx, kind, *kept)
		if err != nil {
			return fmt.Errorf("pages: %w", err)
		}
		err = measurePages(ctx, stdout, stderr, kind, location, *rows, *times, now)
		if err := errors.Join(err, end()); err != nil {
			return fmt.Errorf("pages: %s: %w", kind, err)
		}
	}
	return nil
}

// locationOf returns an empty store of a kind, and what removes it.
func locationOf(ctx context.Context, kind, kept string) (location string, end func() error, err error) {
	switch {
	case kind == "postgres":
		// The fill writes no log: a table that a transaction creates needs none at wal_level minimal.
		server, err := servers.StartPostgres("shared_buffers=512MB", "max_wal_size=2GB", "wal_level=minimal", "max_wal_senders=0") //nolint:contextcheck // the server takes no context: each of its programs has a bound of its own
		if err != nil {
			return "", nil, err
		}
		end = func() error { server.End(); return nil }
		name, err := server.Create(ctx)
		if err != nil {
			return "", nil, errors.Join(err, end())
		}
		return server.URL(name), end, nil
	case kind != "sqlite":
		return "", nil, fmt.Errorf("%q is no kind of store: sqlite, postgres", kind)
	case kept != "":
		return kept, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "genway-pages-")
	return filepath.Join(dir, store.FileName), func() error { return os.RemoveAll(dir) }, err
}

func measurePages(ctx context.Context, stdout, stderr io.Writer, kind, location string, rows int64, times int, now time.Time) error {
	if _, err := os.Stat(location); err != nil {
		began := time.Now()
		if err := pages.Fill(ctx, location, rows, now); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%s: %d rows in %s\n", kind, rows, time.Since(began).Round(time.Second))
	}
	figures, err := pages.Measure(ctx, location, times, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "| %s, %d rows, load %s | p50, ms | p95, ms | longest, ms | listed | aim, ms |\n|---|---:|---:|---:|---:|---|\n", kind, rows, process.Load())
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	met := 0
	for _, f := range figures {
		aim := fmt.Sprintf("%.0f", ms(f.Aim))
		if f.P95 < f.Aim {
			met++
		} else {
			aim += ", missed"
		}
		fmt.Fprintf(stdout, "| %s | %.1f | %.1f | %.1f | %d | %s |\n", f.Page, ms(f.P50), ms(f.P95), ms(f.Max), f.Rows, aim)
	}
	fmt.Fprintf(stdout, "\n%s: %d of %d pages are within their aim\n", kind, met, len(figures))
	pruned, err := pages.Prune(ctx, location, min(100_000, rows/10), 500, now)
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "\n%d rows were pruned beside 500 rows a second, of which %d were written: a batch p95 %.1f ms, a write p95 %.1f ms, the longest %.1f ms\n\n",
		pruned.Rows, pruned.Written, ms(pruned.Batch), ms(pruned.Write), ms(pruned.Most))
	return err
}
