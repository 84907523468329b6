package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Schema is what a database has, and what this program knows.
type Schema struct {
	// Version is the database's; 0 where there is nothing yet.
	Version int64
	// Known is the version that this program brings.
	Known int64
	// Least is the least version that a program must know to use the database; 0 before
	// version 11.
	Least int64
	// Pending are the migrations that lead from Version to Known, in order.
	Pending []Migration
	// Partitions is how many the ledger has; 0 where it is not partitioned.
	Partitions int64
}

// Migration is one step of the schema.
type Migration struct {
	Version int64
	// Name is that of its file, such as 00001_keys.sql.
	Name string
	// SQL are its statements, as the database gets them.
	SQL string
}

// Compatible is whether this program may use the database, once nothing is pending.
func (s Schema) Compatible() bool {
	return s.Version <= s.Known || s.Least > 0 && s.Least <= s.Known
}

// ReadSchema reads the schema of a database and changes nothing. A file that is not there
// has version 0, or is ErrMissing with Config.Existing.
func ReadSchema(ctx context.Context, cfg Config) (Schema, error) {
	var schema Schema
	err := withSchema(cfg, func(db database) error {
		known, err := versions()
		if err != nil {
			return err
		}
		schema, err = readSchema(ctx, db, known)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && !cfg.Existing {
		return pendingAll()
	}
	return schema, err
}

// pendingAll is the schema of an SQLite file that is not there.
func pendingAll() (Schema, error) {
	known, err := versions()
	if err != nil {
		return Schema{}, err
	}
	pending, err := after(0, &sqliteDialect, known)
	return Schema{Known: known[len(known)-1].Version, Pending: pending}, err
}

// MigrateUp brings the schema of a database up to date, creating an SQLite file that is not
// there, and returns the migrations that it made. Processes that call it at once take turns.
func MigrateUp(ctx context.Context, cfg Config) ([]Migration, error) {
	if IsPostgres(cfg.Location) {
		config, err := parsePostgres(cfg.Location)
		if err != nil {
			return nil, err
		}
		made, err := migratePostgres(ctx, config, MigrateAuto, cfg.Waits)
		if err != nil {
			return nil, fmt.Errorf("migrate store %s: %w", address(config), postgresReason(config, err))
		}
		return made, nil
	}
	before, err := ReadSchema(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cfg.Migrate = MigrateAuto
	opened, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return before.Pending, opened.Close()
}

// withSchema runs do on a database that is there, whatever its schema is.
func withSchema(cfg Config, do func(database) error) error {
	if IsPostgres(cfg.Location) {
		config, err := parsePostgres(cfg.Location)
		if err != nil {
			return err
		}
		bound(config)
		db := connections(config, 1)
		defer db.pool.Close() //nolint:errcheck // it wrote nothing
		if err := do(db); err != nil {
			return fmt.Errorf("open store %s: %w", address(config), postgresReason(config, err))
		}
		return nil
	}
	path, err := filepath.Abs(cfg.Location)
	if err != nil {
		return fmt.Errorf("open store %s: %w", cfg.Location, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && cfg.Existing {
		return fmt.Errorf("open store %s: %w", path, ErrMissing)
	} else if err != nil {
		return fmt.Errorf("open store %s: %w", path, reason(err))
	}
	db, err := sqlitePool(path)
	if err != nil {
		return fmt.Errorf("open store %s: %w", path, err)
	}
	defer db.pool.Close() //nolint:errcheck // it wrote nothing
	if err := do(db); err != nil {
		return fmt.Errorf("open store %s: %w", path, explain(path, err))
	}
	return nil
}

// readSchema reads the versions that goose and migration 11 keep. It does without goose,
// which creates its table where that is missing. A database that lacks tables is an error.
func readSchema(ctx context.Context, db database, known []Migration) (Schema, error) {
	schema := Schema{Known: known[len(known)-1].Version}
	for _, one := range []struct {
		table, query string
		to           *int64
	}{
		{"goose_db_version", `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`, &schema.Version},
		{"schema_least", `SELECT COALESCE(MAX(version), 0) FROM schema_least`, &schema.Least},
	} {
		var there bool
		if err := db.row(ctx, db.hasTable, one.table).Scan(&there); err != nil {
			return schema, fmt.Errorf("read the schema's version: %w", err)
		}
		if !there {
			continue
		}
		if err := db.row(ctx, one.query).Scan(one.to); err != nil {
			return schema, fmt.Errorf("read the schema's version: %w", err)
		}
	}
	if db.partitions != "" {
		if err := db.row(ctx, db.partitions).Scan(&schema.Partitions); err != nil {
			return schema, fmt.Errorf("count the ledger's partitions: %w", err)
		}
	}
	// The tables are read last, since another process may be migrating.
	if schema.Compatible() {
		if err := checkTables(ctx, db, schema.Version, known); err != nil {
			return schema, err
		}
	}
	var err error
	schema.Pending, err = after(schema.Version, db.dialect, known)
	return schema, err
}

// after gives the migrations of later versions, with their SQL.
func after(version int64, d *dialect, known []Migration) (pending []Migration, err error) {
	for _, step := range known {
		if step.Version <= version {
			continue
		}
		written, err := inDialect(d, step)
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		pending = append(pending, written)
	}
	return pending, nil
}

// parsePostgres reads the URL of a PostgreSQL database.
func parsePostgres(location string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(location)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", badURL(location, err))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	return config, nil
}
