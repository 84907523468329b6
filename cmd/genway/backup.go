package main

import (
	"context"
	"fmt"
	"io"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/store"
)

type backupCommand struct {
	coreproc.Data
	File string `arg:"" help:"The file to write. It must not exist."`
}

// Run writes a backup of the store.
func (c *backupCommand) Run(ctx context.Context, stdout io.Writer) error {
	location, err := c.Location()
	if err != nil {
		return err
	}
	if err := store.Backup(ctx, location, c.File); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is a backup of %s.\n", c.File, location)
	return err
}

type restoreCommand struct {
	coreproc.Data
	File    string `arg:"" type:"existingfile" help:"The backup."`
	Replace bool   `help:"Replace an existing store. It is kept under another name."`
}

// Run puts a backup in the place of the store.
func (c *restoreCommand) Run(ctx context.Context, stdout io.Writer) error {
	location, err := c.Location()
	if err != nil {
		return err
	}
	kept, err := store.Restore(ctx, c.File, location, c.Replace)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintf(stdout, "The store that was there is %s.\n", kept)
	}
	_, err = fmt.Fprintf(stdout, "%s is restored. Revoke again what was revoked since the backup.\n", location)
	return err
}
