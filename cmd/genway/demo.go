package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

type demoCommand struct {
	coreproc.Data
	Seed     uint64 `default:"1" help:"Seed of the random numbers. The same seed, requests, days and end give the same rows."`
	Requests int    `default:"100000" least:"1" most:"20000000" help:"How many requests to generate."`
	Days     int    `default:"7" least:"1" most:"366" help:"Over how many days."`
	End      moment `placeholder:"TIME" help:"When the last day ends: 36h or 30d ago, 2026-01-31, 2026-01-31T12:00:00Z. Default: now."`
	Add      bool   `help:"Fill a store that already has keys or requests. They stay as they are; the generated ones cannot be removed again."`
}

var errNotEmpty = errors.New("the store has keys or requests already, and made-up ones could not be distinguished from them: choose an empty directory with --data or another store, or --add to add to this one")

// Run fills the store and prints how to look at it.
func (c *demoCommand) Run(ctx context.Context, stdout io.Writer) error {
	now := time.Now()
	week := demo.Week{Seed: c.Seed, Requests: c.Requests, Days: c.Days, End: c.End.Time}
	switch {
	case c.End.IsZero():
		week.End = now
	case c.End.After(now):
		return cli.UsageError{Err: errors.New("--end is in the future")}
	case c.End.AddDate(0, 0, -c.Days).Year() < 1971:
		return cli.UsageError{Err: errors.New("--end: the days begin before 1971, of which no sums are kept")}
	}
	if c.Add {
		week.Late, week.Actor = true, actor()
	}
	dir, err := c.Directory()
	if err != nil {
		return err
	}
	progress := cli.NewProgress()
	var filled demo.Filled
	err = c.WithNewStore(ctx, func(db *store.Store) error {
		if used, err := inUse(ctx, db); err != nil || used && !c.Add {
			return errors.Join(err, errNotEmpty)
		}
		filled, err = demo.Fill(ctx, demo.Into{Keys: db.Keys(), Ledger: db.Ledger(), Progress: func(n int64) { progress.Report(n, int64(c.Requests), "requests are made up") }}, week)
		return err
	})
	progress.Clear()
	if err != nil {
		return err
	}
	took := time.Since(now)
	config, err := writeDemoFiles(dir)
	if err != nil {
		return err
	}
	location, err := c.Location()
	if err != nil {
		return err
	}
	where := "--data " + dir
	if store.IsPostgres(location) {
		where += " --store and the database's URL"
	}
	_, err = fmt.Fprintf(stdout, "made up %d keys and %d requests until %s: %.1f s, %.0f requests/s\nNobody knows the secrets of these keys; make one of your own to send requests.\n\nLook at it:\n  genway serve %s --config %s\n  genway console link %s\n",
		filled.Keys, filled.Requests, week.End.UTC().Format(time.RFC3339), took.Seconds(), float64(filled.Requests)/took.Seconds(), where, config, where)
	return err
}

// inUse reports whether a store has keys or requests.
func inUse(ctx context.Context, db *store.Store) (used bool, err error) {
	list, err := db.Keys().List(ctx, keys.Query{Limit: 1})
	if err != nil || len(list) > 0 {
		return true, err
	}
	err = db.Ledger().View(ctx, func(v ledger.View) error {
		first, err := v.Next(ctx, time.Time{})
		used = !first.IsZero()
		return err
	})
	return used, err
}

// writeDemoFiles writes the configuration and the prices of what is made up into a directory,
// unless they are there, and gives the name of the configuration.
func writeDemoFiles(dir string) (config string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for name, text := range map[string]string{demo.ConfigurationName: demo.Configuration, demo.PricesName: demo.Prices} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the directory
		if errors.Is(err, fs.ErrExist) {
			continue // it may have been changed since
		}
		if err != nil {
			return "", err
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, demo.ConfigurationName), nil
}
