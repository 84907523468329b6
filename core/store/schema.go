package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Schema is what a database has, and what this program knows.
type Schema struct {
	// Version is the database's; 0 where there is nothing yet.
	Version int64
	// Known is the version that this program brings.
	Known int64
	// Least is the lowest version that a program must know to use the database.
	Least int64
	// Pending are the migrations that lead from Version to Known, in order.
	Pending []Migration
	// Partitions is how many the ledger has; 0 on SQLite, whose ledger is one table.
	Partitions int64
}

// Migration is one step of the schema.
type Migration struct {
	Version int64
	// Name is that of its file, such as 00001_schema.sql.
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
		var err error
		schema, err = readSchema(ctx, db)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && !cfg.Existing {
		return newSchema(&sqliteDialect)
	}
	return schema, err
}

// newSchema is the schema of an empty database.
func newSchema(d *dialect) (Schema, error) {
	all, err := embedded(d)
	if err != nil {
		return Schema{}, fmt.Errorf("read the migrations: %w", err)
	}
	return Schema{Known: all[len(all)-1].Version, Pending: all}, nil
}

// MigrateUp brings the schema of a database up to date, creating an SQLite file that is not
// there, and returns the migrations that were pending. Processes that call it at once take turns. In PostgreSQL it also
// makes the partitions of the ledger's next days that are missing.
func MigrateUp(ctx context.Context, cfg Config) ([]Migration, error) {
	if IsPostgres(cfg.Location) {
		config, err := parsePostgres(cfg.Location)
		if err != nil {
			return nil, err
		}
		made, err := migratePostgres(ctx, config, MigrateAuto, cfg.Waits)
		if err == nil {
			bound(config)
			db := connections(config, 1)
			defer db.pool.Close() //nolint:errcheck // what it wrote is committed
			_, err = ledgerStore{db: db}.Extend(ctx, time.Now())
		}
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

// readSchema reads the versions that goose and schema_least keep. It does without goose,
// which creates its table where that is missing. A database that lacks tables is an error, and so is one that is another
// program's or a build's of before the first release.
func readSchema(ctx context.Context, db database) (Schema, error) {
	schema, err := newSchema(db.dialect)
	if err != nil {
		return schema, err
	}
	all := schema.Pending
	if schema.Version, err = highest(ctx, db, versionTable, "version_id"); err == nil {
		schema.Least, err = highest(ctx, db, "schema_least", "version")
	}
	if err != nil {
		return schema, fmt.Errorf("read the schema's version: %w", err)
	}
	if schema.Version == 0 {
		return schema, refuseForeign(ctx, db)
	}
	if db.partitions != "" {
		if err := db.row(ctx, db.partitions).Scan(&schema.Partitions); err != nil {
			return schema, fmt.Errorf("count the ledger's partitions: %w", err)
		}
	}
	// The tables are read last, since another process may be migrating.
	if schema.Compatible() {
		if err := checkTables(ctx, db, schema.Version, all); err != nil {
			return schema, err
		}
	}
	schema.Pending = slices.DeleteFunc(all, func(m Migration) bool { return m.Version <= schema.Version })
	return schema, nil
}

// highest is the highest number of a table's column; 0 where there is none, or no such table.
func highest(ctx context.Context, db database, table, column string) (number int64, err error) {
	there, err := hasTable(ctx, db, table)
	if err == nil && there {
		err = db.row(ctx, `SELECT COALESCE(MAX(`+column+`), 0) FROM `+table).Scan(&number)
	}
	return number, err
}

func hasTable(ctx context.Context, db database, table string) (there bool, err error) {
	err = db.row(ctx, db.hasTable, table).Scan(&there)
	return there, err
}

// refuseForeign refuses a database without a schema that is no new one: of a build before the first release, whose
// migrations were counted in goose's own table, and a file of another program.
func refuseForeign(ctx context.Context, db database) error {
	versions, err := hasTable(ctx, db, "goose_db_version")
	keys := false
	if err == nil {
		keys, err = hasTable(ctx, db, "keys_version")
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the schema's tables: %w", err)
	case versions && keys:
		return errUnreleased
	}
	if db.foreign == "" {
		return nil
	}
	var found string
	err = db.row(ctx, db.foreign).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the schema's tables: %w", err)
	}
	return fmt.Errorf("the file is another program's, since it has %s and no schema of genway: choose another file", found)
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
