package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

type importKeys struct {
	storeFlags
	File   string `arg:"" type:"existingfile" help:"The CSV file, or - for standard input. Its first line names the columns: group, and settings as the flags of genway keys create are named, with _ for -: name, owner, expire_time, requests_per_minute, budget_month. Each value is as the flag takes it."`
	Out    string `placeholder:"FILE" help:"Write the keys to this file instead of printing them. It must not exist, and is readable by its user only."`
	DryRun bool   `help:"Check the file and create nothing."`
}

// Run prints the keys, or writes them to a file: id, group, name and key, in the file's order. Then it makes them.
func (c *importKeys) Run(ctx context.Context, stdout io.Writer) (err error) {
	text, name, err := c.read(ctx)
	if err != nil {
		return err
	}
	progress := cli.NewProgress()
	defer progress.Clear()
	table := keyTable{bytes.NewReader(text)}
	total, err := checkKeys(ctx, table, progress)
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	output := stdout
	if c.Out != "" && !c.DryRun {
		file, refused := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if refused != nil {
			return fmt.Errorf("--out: %w; nothing was imported", refused)
		}
		output = file
		defer func() {
			if err = errors.Join(err, file.Close()); err != nil && !maybeMade(err) {
				err = errors.Join(err, os.Remove(c.Out))
			}
		}()
	}
	err = c.on(ctx, c.importing(), func(ctx context.Context, ring keyring) error {
		importAll := func(params iter.Seq2[keys.CreateParams, error], dry bool, doing string) error {
			var done int64
			err := ring.ImportAll(ctx, keys.Importing{Params: params, Dry: dry, Made: func(part []keys.Created) error {
				done += int64(len(part))
				progress.Report(done, total, doing)
				return nil
			}})
			progress.Clear()
			if invalid, ok := errors.AsType[*keys.InvalidError](err); ok {
				return fmt.Errorf("%s:%w", name, table.blame(invalid))
			}
			return err
		}
		if err := importAll(table.params(), true, "keys are checked in the store"); err != nil {
			return err
		}
		if c.DryRun {
			_, err := fmt.Fprintf(stdout, "%d keys would be made\n", total)
			return err
		}
		drawn, printed, err := table.draw()
		if err != nil {
			return err
		}
		return handOver(output, printed, func() error {
			return importAll(drawn, false, "keys are made")
		})
	})
	if err != nil && !maybeMade(err) {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	return err
}

// read returns the text of the file, and its name in errors.
func (c *importKeys) read(ctx context.Context) (text []byte, name string, err error) {
	file, name := os.Stdin, "standard input"
	if c.File != "-" {
		name = c.File
		if file, err = os.Open(c.File); err != nil {
			return nil, "", err
		}
		defer file.Close() //nolint:errcheck // it was only read
	}
	// A read of a pipe ends with its file.
	defer context.AfterFunc(ctx, func() { _ = file.Close() })()
	text, err = io.ReadAll(file)
	return text, name, cmp.Or(ctx.Err(), err)
}

// checkKeys checks the file without a store and returns the number of its keys.
func checkKeys(ctx context.Context, table keyTable, progress *cli.Progress) (total int64, err error) {
	now := time.Now()
	for row, err := range table.rows() {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
		if invalid, ok := errors.AsType[*keys.InvalidError](row.params.Check(now)); ok {
			return 0, fmt.Errorf("%w; nothing was imported", row.blame(invalid))
		}
		total++
		progress.Report(total, 0, "keys are checked")
	}
	return total, nil
}

// importing returns what opens the store. A dry run makes no store, not even an empty one:
// where there is none yet, it checks the file against an empty one of its own.
func (c *importKeys) importing() opens {
	if !c.DryRun {
		return c.WithNewKeys
	}
	return func(ctx context.Context, do func(*keys.Service) error) error {
		err := c.WithKeys(ctx, do)
		if !errors.Is(err, store.ErrMissing) {
			return err
		}
		dir, err := os.MkdirTemp("", "genway-dry-run-")
		if err != nil {
			return err
		}
		empty := coreproc.Data{Store: filepath.Join(dir, store.FileName)}
		return errors.Join(empty.WithNewKeys(ctx, do), os.RemoveAll(dir))
	}
}
