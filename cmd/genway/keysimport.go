package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	File   string `arg:"" type:"existingfile" help:"The CSV file, or - for standard input. Its first line names the columns: group, and any of name, owner, labels, expire_time, models, addresses, certificates, requests_per_minute, tokens_per_minute, concurrent, budget_day, budget_month, strict, priority, each as its flag takes it."`
	DryRun bool   `help:"Check the file and create nothing."`
}

// Run makes the keys and prints them: id, group, name and key, in the file's order. However many
// they are, a part at a time is in memory: the file is read twice, once to check it and once to make
// the keys, and what is to be printed waits in a temporary file until all are made.
func (c *importKeys) Run(ctx context.Context, stdout io.Writer) (err error) {
	file, name, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	progress := cli.NewProgress()
	defer progress.Clear()
	table := keyTable{file}
	total, err := checkKeys(ctx, table, progress)
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	made, err := newSpool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	lines := csv.NewWriter(made)
	_ = lines.Write([]string{"id", "group", "name", "key"}) // into its buffer
	lines.Flush()
	if err := lines.Error(); err != nil {
		return err
	}
	var done int64
	err = c.on(ctx, c.importing(), func(ctx context.Context, ring keyring) error {
		return ring.ImportAll(ctx, keys.Importing{
			Params: table.params(),
			Dry:    c.DryRun,
			Made: func(part []keys.Created) error {
				done += int64(len(part))
				progress.Report(done, total, "keys are made")
				return createdCSV(lines, part)
			},
		})
	})
	progress.Clear()
	if invalid, ok := errors.AsType[*keys.InvalidError](err); ok {
		return fmt.Errorf("%s:%w; nothing was imported", name, table.blame(invalid))
	}
	switch {
	case err == nil:
	case errors.Is(err, store.ErrUnknown):
		return errors.Join(fmt.Errorf("%w; the keys are printed in case they were imported, all or none: genway keys list shows it", err), made.copyTo(stdout))
	case c.Server == "":
		return fmt.Errorf("%w; nothing was imported", err)
	default: // the server may have imported them, and its answer is lost
		return err
	}
	if c.DryRun {
		_, err = fmt.Fprintf(stdout, "%d keys would be made\n", done)
		return err
	}
	return made.copyTo(stdout)
}

// readSeekCloser is a file that is read more than once.
type readSeekCloser interface {
	io.ReadSeeker
	io.Closer
}

// open gives the file and its name in errors. What can be read only once, such as standard input,
// is copied to a temporary file first.
func (c *importKeys) open(ctx context.Context) (readSeekCloser, string, error) {
	file, name := os.Stdin, "standard input"
	if c.File != "-" {
		opened, err := os.Open(c.File)
		if err != nil {
			return nil, "", err
		}
		if info, err := opened.Stat(); err == nil && info.Mode().IsRegular() {
			return opened, c.File, nil
		}
		defer opened.Close() //nolint:errcheck // it was only read
		file, name = opened, c.File
	}
	// A read of a pipe ends with its file.
	defer context.AfterFunc(ctx, func() { _ = file.Close() })()
	copied, err := newSpool()
	if err != nil {
		return nil, "", err
	}
	if _, err := io.Copy(copied, file); err != nil {
		return nil, "", errors.Join(cmp.Or(ctx.Err(), err), copied.Close())
	}
	return copied, name, nil
}

// checkKeys checks the file without a store and gives the number of its keys.
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

// importing gives what opens the store. A dry run makes no store, not even an empty one:
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

// createdCSV writes new keys, this once.
func createdCSV(lines *csv.Writer, made []keys.Created) error {
	for _, c := range made {
		if err := lines.Write([]string{c.Key.ID, string(c.Key.Group), c.Key.Name, c.Raw}); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}
