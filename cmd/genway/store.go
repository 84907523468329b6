package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
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

type storeCommand struct {
	Copy copyStore `cmd:"" help:"Copy an SQLite store into an empty PostgreSQL database: keys, audit, ledger and sums. End the servers first."`
}

type copyStore struct {
	coreproc.Data
	To string `env:"GENWAY_STORE_TO" required:"" placeholder:"URL" help:"The database to fill, which must have no rows: postgres://USER@HOST:PORT/DATABASE. What the URL leaves out, such as the password, is taken from PGPASSWORD or a password file."`
}

// Run proves the store, copies it, and proves the copy.
func (c *copyStore) Run(ctx context.Context, stdout io.Writer) error {
	location, err := c.Location()
	if err != nil {
		return err
	}
	if store.IsPostgres(location) || !store.IsPostgres(c.To) {
		return cli.UsageError{Err: store.ErrCopyDirection}
	}
	// A database that cannot be reached is reported before the check, which may take minutes.
	if _, err := store.ReadSchema(ctx, store.Config{Location: c.To}); err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	now := time.Now()
	before, err := prove(ctx, coreproc.Data{Store: location, Migrate: store.MigrateCheck}, [sha256.Size]byte{}, now)
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	progress := cli.NewProgress()
	copied, err := store.Copy(ctx, location, c.To, func(done, total int64) { progress.Report(done, total, "rows are copied") }, coreproc.SayWaits)
	progress.Clear()
	switch {
	case errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("the answer to the commit was lost, so that the database has all rows or none: run the command again, which refuses a database that has rows; then make an empty one: %w", err)
	case err != nil:
		return fmt.Errorf("nothing was copied: %w", err)
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, t := range copied {
		fmt.Fprintf(table, "%s\t%d rows\n", t.Table, t.Rows)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "All rows are copied. The check of the copy follows."); err != nil {
		return err
	}
	after, err := prove(ctx, coreproc.Data{Store: c.To, Migrate: store.MigrateCheck}, before.audit.Hash, now)
	if err := verdict(before, after, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "audit verify, on both sides: whole, %d entries, head %x\nledger check, on both sides: all is well, %d requests\nStart servers with --store and the new database, and with the same --data: its journal may hold requests of a server that was killed.\n",
		after.audit.Number, after.audit.Hash, after.requests)
	return err
}

// verdict says whether a copy is as good as its store, by what prove found of both, or that this is not known: err is
// of the copy's proof.
func verdict(before, after proof, err error) error {
	_, broken := errors.AsType[*audit.BrokenError](err)
	switch {
	case broken, errors.Is(err, audit.ErrHeadMissing), errors.Is(err, errWrong):
		return fmt.Errorf("the copy is not good, remove the database: %w", err)
	case err != nil:
		return fmt.Errorf("all rows are copied, but the copy was not checked to its end: make an empty database and copy again, or run genway audit verify and genway ledger check with --store and the database: %w", err)
	case after != before:
		return fmt.Errorf("the copy is not good, remove the database: it has %+v, and the store %+v", after, before)
	}
	return nil
}

// proof is what a store holds, as far as it proves itself.
type proof struct {
	audit    audit.Head
	requests int64
}

// prove verifies the audit of a store, in which an entry of a hash must be unless it is zero, and
// checks its ledger as of a moment.
func prove(ctx context.Context, data coreproc.Data, known [sha256.Size]byte, now time.Time) (proof, error) {
	var found proof
	err := data.WithAudit(ctx, func(store audit.Store) (err error) {
		found.audit, err = audit.Verify(store.Entries(ctx, audit.Query{}), known)
		return err
	})
	if err != nil {
		return found, err
	}
	err = data.WithLedger(ctx, func(store ledger.Store, _ *keys.Service) error {
		progress := cli.NewProgress()
		checked, err := reconcile.Check(ctx, reconcile.Checking{Store: store, Now: now, After: func(found *reconcile.Checked) error {
			reportDays(progress, found)
			return nil
		}})
		progress.Clear()
		if err != nil {
			return err
		}
		found.requests = checked.Entries + checked.Pruned
		if !checked.Good() {
			return errors.Join(errWrong, errors.New("genway ledger check says what is wrong; requests that a killed server left open are closed within a minute of the next start"))
		}
		return nil
	})
	return found, err
}
