package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/test/bench/growth"
	"github.com/genway/genway/test/bench/scale"
	"github.com/genway/genway/test/servers"
)

// runScale measures what the servers that all cores share can do.
func runScale(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("scale", stderr)
	during := flags.Duration("during", 10*time.Second, "how long each figure is measured")
	sizes := map[string]*string{
		"cores":   flags.String("cores", "1,2,4,8", "cores that write to one PostgreSQL at once, in turn"),
		"rows":    flags.String("rows", "200000", "rows of a day that are removed, in turn"),
		"callers": flags.String("callers", "1,16,256", "requests that ask one Redis or Valkey at once, in turn"),
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	ledger := func(ctx context.Context, n int, during time.Duration) (growth.Row, error) {
		return onPostgres(ctx, func(db *scale.Database) (growth.Row, error) { return scale.Ledger(ctx, db, n, during) })
	}
	prune := func(ctx context.Context, n int, _ time.Duration) (growth.Row, error) {
		return onPostgres(ctx, func(db *scale.Database) (growth.Row, error) { return scale.Prune(ctx, db, n) })
	}
	var rows []growth.Row
	for _, m := range []struct {
		name    string
		measure func(context.Context, int, time.Duration) (growth.Row, error)
	}{{"cores", ledger}, {"rows", prune}, {"callers", scale.Limits}} {
		for size := range strings.SplitSeq(*sizes[m.name], ",") {
			n, err := strconv.Atoi(size)
			if err != nil || n < 1 {
				return fmt.Errorf("scale: -%s: %q is no number of 1 and more", m.name, size)
			}
			fmt.Fprintf(stderr, "%s: %d\n", m.name, n)
			row, err := m.measure(ctx, n, *during)
			if err != nil {
				return fmt.Errorf("scale: %d %s: %w", n, m.name, err)
			}
			rows = append(rows, row)
		}
	}
	return growth.Print(stdout, rows)
}

// onPostgres measures on a server that is started for it, whose commits reach the disk.
func onPostgres(ctx context.Context, measure func(*scale.Database) (growth.Row, error)) (growth.Row, error) {
	server, err := servers.StartPostgres("fsync=on", "full_page_writes=on", "max_wal_size=4GB", "shared_buffers=512MB") //nolint:contextcheck // the server takes no context: each of its programs has a bound of its own
	if err != nil {
		return growth.Row{}, err
	}
	defer server.End()
	db, err := scale.NewDatabase(ctx, server)
	if err != nil {
		return growth.Row{}, err
	}
	return measure(db)
}
