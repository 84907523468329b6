package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to what this program knows, each migration in its
// transaction. One process at a time may call it: goose reads what is pending before
// it begins to write. A database of a newer program is refused, since this one cannot
// know what it would break.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > known {
		return fmt.Errorf("its schema is version %d and this program knows %d: it was written by a newer genway", have, known)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate its schema: %w", err)
	}
	return nil
}
