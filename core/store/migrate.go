package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to what this program knows, each migration in its
// transaction. One process at a time may call it: goose reads what is pending before
// it begins to write. A database of a newer program is refused, since this one cannot
// know what it would break. Nothing is written where nothing is pending, so that a
// user of PostgreSQL who may not change the schema will do for it.
func migrate(ctx context.Context, db database) error {
	known, err := inDialect(db.dialect)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(db.goose, db.pool, nil, goose.WithGoMigrations(known...),
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > want {
		return fmt.Errorf("its schema is version %d and this program knows %d: it was written by a newer genway", have, want)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate its schema: %w", err)
	}
	return nil
}

// inDialect are the files' migrations in a dialect. A file's number is its version.
func inDialect(d *dialect) ([]*goose.Migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]*goose.Migration, 0, len(files))
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		statements, err := render(d, migrations, file)
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, statements); err != nil {
				return fmt.Errorf("%s: %w", path.Base(file), err)
			}
			return nil
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	return all, nil
}

var (
	wordPattern = regexp.MustCompile(`\{\{(\w+)((?: "[^"]*")*)\}\}`)
	textPattern = regexp.MustCompile(`"([^"]*)"`)
)

// render writes a migration in a dialect. It is no text/template: that calls methods by
// their names, which keeps the linker from leaving out any method of the program.
func render(d *dialect, files fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return "", err
	}
	rendered := wordPattern.ReplaceAllStringFunc(string(text), func(word string) string {
		parts := wordPattern.FindStringSubmatch(word)
		var texts []string
		for _, match := range textPattern.FindAllStringSubmatch(parts[2], -1) {
			texts = append(texts, match[1])
		}
		sql, known := d.words[parts[1]]
		switch {
		case known && len(texts) == 0:
			return sql
		case parts[1] == "onchange" && len(texts) == 2:
			return d.onchange(texts[0], texts[1])
		case parts[1] == "appendonly" && len(texts) == 1:
			return d.appendonly(texts[0])
		}
		return word
	})
	if _, word, found := strings.Cut(rendered, "{{"); found {
		word, _, _ = strings.Cut(word, "}}")
		return "", fmt.Errorf("%s: {{%s}} is no word of migrations, or lacks its texts", path.Base(file), word)
	}
	return rendered, nil
}
