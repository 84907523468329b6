package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/pressly/goose/v3"
)

// migrations are the schema's, a directory for each database (migrations/README.md).
//
//go:embed migrations/*/*.sql
var migrations embed.FS

// versionTable is goose's table of the migrations that were made. Its name is not goose's own, which other programs that
// share a PostgreSQL database may use.
const versionTable = "genway_schema"

// Migrate is what Open does about a schema that is older than the program's.
type Migrate string

// The choices of Config.Migrate.
const (
	// MigrateAuto, the default, brings the schema up to date.
	MigrateAuto Migrate = "auto"
	// MigrateCheck refuses a database whose schema is not up to date.
	MigrateCheck Migrate = "check"
	// MigrateOff does not look at the schema.
	MigrateOff Migrate = "off"
)

// ErrPending is of a database whose schema is older than the program's.
var ErrPending = errors.New("run genway migrate up, or start with --migrate=auto")

// errUnreleased is of a database that a build of before the first release has made.
var errUnreleased = errors.New("a build of genway from before its first release has made it, whose schema is not migrated: choose another place for the data, or continue with that build")

// pending returns the migrations that are to be made. It refuses what mode does not allow and what a newer program has
// made unusable, and changes nothing. The schema of a newer program is otherwise used as it is.
func pending(ctx context.Context, db database, mode Migrate) ([]Migration, error) {
	if mode == MigrateOff {
		return nil, nil
	}
	schema, err := readSchema(ctx, db)
	switch {
	case err != nil:
		return nil, err
	case !schema.Compatible():
		return nil, fmt.Errorf("its schema is version %d, for which a program must know version %d; this one knows %d: it was written by a newer genway", schema.Version, schema.Least, schema.Known)
	case len(schema.Pending) > 0 && mode == MigrateCheck:
		return nil, fmt.Errorf("its schema is version %d and this program needs %d: %w", schema.Version, schema.Known, ErrPending)
	}
	return schema.Pending, nil
}

// up makes the migrations that are pending, in order, each in a transaction unless its file says otherwise.
func up(ctx context.Context, db database, options ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, "migrations/"+db.migrations)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(db.goose, db.pool, files, append(options, goose.WithTableName(versionTable),
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate its schema: %w", err)
	}
	return nil
}

// embedded returns the migrations that the program brings for a database, in order.
func embedded(d *dialect) ([]Migration, error) {
	files, err := fs.Glob(migrations, "migrations/"+d.migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]Migration, 0, len(files))
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: version, Name: path.Base(file), SQL: string(text)})
	}
	return all, nil
}

// checkTables fails, with their names, when a database lacks tables that the migrations up to its
// version make. A migration that drops a table is to be taken into account here.
func checkTables(ctx context.Context, db database, version int64, known []Migration) error {
	rows, err := db.query(ctx, db.tables)
	if err != nil {
		return fmt.Errorf("read the schema's tables: %w", err)
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("read the schema's tables: %w", err)
		}
		there[name] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the schema's tables: %w", err)
	}
	var missing []string
	for _, m := range known {
		if m.Version > version {
			break
		}
		for line := range strings.Lines(m.SQL) {
			made, found := strings.CutPrefix(line, "CREATE TABLE ")
			name, _, _ := strings.Cut(made, " ")
			if found && !there[name] && !strings.Contains(made, " PARTITION OF ") {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("its schema is version %d, but tables of it are missing (%s): restore it from a backup (docs/operation.md, When a store or disk fails)", version, strings.Join(missing, ", "))
	}
	return nil
}
