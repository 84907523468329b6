package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/store"
)

type migrateCommand struct {
	Status migrateStatus `cmd:"" help:"Print the version of the store's schema and the pending migrations."`
	Up     migrateUp     `cmd:"" help:"Apply the pending migrations, and make the partitions of the next days. Servers of the previous release keep working."`
	Wait   migrateWait   `cmd:"" help:"Wait until this program can use the schema without a migration."`
}

type migrateStatus struct{ coreproc.Data }

// Run prints the state of the schema.
func (c *migrateStatus) Run(ctx context.Context, stdout io.Writer) error {
	schema, err := c.Schema(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, describe(schema))
	return err
}

func describe(schema store.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The store's schema is version %d; this program knows %d", schema.Version, schema.Known)
	switch {
	case !schema.Compatible():
		fmt.Fprintf(&b, ". A program must know version %d: use a newer genway.\n", schema.Least)
	case len(schema.Pending) > 0:
		b.WriteString(". Pending:\n")
		for _, step := range schema.Pending {
			fmt.Fprintf(&b, "  %s\n", step.Name)
		}
	case schema.Version > schema.Known:
		b.WriteString(", and may use it.\n")
	default:
		b.WriteString(": it is up to date.\n")
	}
	if schema.Partitions > 0 {
		fmt.Fprintf(&b, "The ledger is partitioned by day, and has %d partitions.\n", schema.Partitions)
	}
	return b.String()
}

type migrateUp struct {
	coreproc.Data
	DryRun bool `help:"Print the statements instead of running them."`
}

// Run makes the pending migrations, or prints them.
func (c *migrateUp) Run(ctx context.Context, stdout io.Writer) error {
	if c.DryRun {
		schema, err := c.Schema(ctx)
		if err != nil {
			return err
		}
		for _, step := range schema.Pending {
			if _, err := fmt.Fprintf(stdout, "-- %s\n%s\n", step.Name, step.SQL); err != nil {
				return err
			}
		}
		return nil
	}
	made, err := c.MigrateUp(ctx)
	if err != nil {
		return err
	}
	for _, step := range made {
		fmt.Fprintln(stdout, "made", step.Name)
	}
	_, err = fmt.Fprintln(stdout, "The schema is up to date.")
	return err
}

const (
	// between is the pause between two looks of migrate wait at the schema.
	between = time.Second
	// lookTimeout bounds one look. A store that stopped while it answered is asked again over a new connection.
	lookTimeout = 15 * time.Second
)

type migrateWait struct {
	coreproc.Data
	Timeout time.Duration `default:"5m" least:"0s" placeholder:"D" help:"How long to wait. Exits with 1 if the time is over. 0s looks once."`
}

// Run looks until nothing is pending. A store that cannot be reached yet is waited for too.
func (c *migrateWait) Run(ctx context.Context, stdout io.Writer) error {
	end := time.Now().Add(c.Timeout)
	for {
		schema, err := c.look(ctx, time.Until(end))
		if err == nil && len(schema.Pending) == 0 {
			if !schema.Compatible() {
				return fmt.Errorf("the store's schema is version %d, for which a program must know version %d; this one knows %d", schema.Version, schema.Least, schema.Known)
			}
			_, err = io.WriteString(stdout, describe(schema))
			return err
		}
		if err == nil {
			err = fmt.Errorf("the schema is version %d and this program needs %d", schema.Version, schema.Known)
		}
		left := time.Until(end)
		select {
		case <-time.After(min(between, left)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if left <= between {
			return fmt.Errorf("not within %s: %w", c.Timeout, err)
		}
	}
}

// look reads the schema within the time that is left, but within lookTimeout. A timeout of 0 leaves the first look
// none, and does not shorten it.
func (c *migrateWait) look(ctx context.Context, left time.Duration) (store.Schema, error) {
	bound := lookTimeout
	if c.Timeout > 0 {
		bound = min(bound, left)
	}
	within, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	schema, err := c.Schema(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = errors.New("the store does not answer")
	}
	return schema, err
}
