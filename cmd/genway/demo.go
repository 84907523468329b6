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

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// demoRequests is how many requests the week has.
const demoRequests = 20_000

type demoCommand struct{ coreproc.Data }

var errNotEmpty = errors.New("the store has keys or requests already, and made-up ones could not be distinguished from them: choose an empty directory with --data or another store")

// Run fills the store and prints how to look at it.
func (c *demoCommand) Run(ctx context.Context, stdout io.Writer) error {
	dir, err := c.Directory()
	if err != nil {
		return err
	}
	made := 0
	err = c.WithNewStore(ctx, func(db *store.Store) error {
		if used, err := inUse(ctx, db); err != nil || used {
			return errors.Join(err, errNotEmpty)
		}
		made, err = demo.Fill(ctx, db.Keys(), db.Ledger(), demoRequests, time.Now())
		return err
	})
	if err != nil {
		return err
	}
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
	_, err = fmt.Fprintf(stdout, "made up %d keys and %d requests.\nThe secrets of these keys are not known; make a key of your own to send requests.\n\nLook at it:\n  genway serve %s --config %s\n  genway console link %s\n",
		made, demoRequests, where, config, where)
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
// unless they are there, and returns the name of the configuration.
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
