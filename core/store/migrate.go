package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// wholeSchema is the schema of SQLite after the step wholeVersion, in one piece: TestWholeSchema writes it with -update
// and holds it to the steps. Later steps run after it.
//
//go:embed whole.sql
var wholeSchema string

const wholeVersion = 16

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

// migrate does with the schema what mode says. Each migration runs in its transaction, but those of
// an empty database together (create), and those that make an index beside writers in none. One
// process at a time may call it: goose reads what is pending before it begins to write.
// Nothing is written where nothing is pending, so that a user of PostgreSQL who may not
// change the schema will do for it. It returns the migrations that it made.
//
// The schema of a newer program is used as it is, unless that program says that this one
// knows too little (migrations/README.md).
func migrate(ctx context.Context, db database, mode Migrate) ([]Migration, error) {
	if mode == MigrateOff {
		return nil, nil
	}
	known, err := versions()
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	schema, err := readSchema(ctx, db, known)
	switch {
	case err != nil:
		return nil, err
	case !schema.Compatible():
		return nil, fmt.Errorf("its schema is version %d, for which a program must know version %d; this one knows %d: it was written by a newer genway", schema.Version, schema.Least, schema.Known)
	case len(schema.Pending) == 0:
		return nil, nil
	case mode == MigrateCheck:
		return nil, fmt.Errorf("its schema is version %d and this program needs %d: %w", schema.Version, schema.Known, ErrPending)
	}
	if schema.Version == 0 {
		if err := create(ctx, db, schema.Pending); err != nil {
			return nil, fmt.Errorf("migrate its schema: %w", err)
		}
		return schema.Pending, nil
	}
	steps := make([]*goose.Migration, 0, len(known))
	for _, step := range append(known[:len(known)-len(schema.Pending)], schema.Pending...) {
		up := &goose.GoFunc{RunTx: step.run}
		if step.concurrent() {
			up = &goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return step.index(ctx, db) }}
		}
		steps = append(steps, goose.NewGoMigration(step.Version, up, nil))
	}
	provider, err := goose.NewProvider(db.goose, db.pool, nil, goose.WithGoMigrations(steps...),
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return nil, fmt.Errorf("migrate its schema: %w", err)
	}
	return schema.Pending, nil
}

// create makes the schema of an empty database in one transaction: a first start leaves all of it
// or nothing. It refuses an SQLite file that has tables already, since another program has written it. SQLite
// parses the whole schema again after each ALTER TABLE, so that its steps take four times as long as the schema
// in one piece.
func create(ctx context.Context, db database, all []Migration) error {
	table, err := goosedb.NewStore(db.goose, goose.DefaultTablename)
	if err != nil {
		return err
	}
	tx, err := db.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if db.foreign != "" {
		var found string
		if err := tx.QueryRowContext(ctx, db.foreign).Scan(&found); err == nil {
			return fmt.Errorf("the file is another program's, since it has %s and no schema of genway: choose another file", found)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	if err := table.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	if err := db.whole.run(ctx, tx); err != nil {
		return err
	}
	// Goose counts from a version 0 that is in the table.
	for _, step := range append([]Migration{{}}, all...) {
		if step.Version > db.whole.Version {
			if err := step.run(ctx, tx); err != nil {
				return err
			}
		}
		if err := table.Insert(ctx, tx, goosedb.InsertRequest{Version: step.Version}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// versions are the files' migrations, in order, without their SQL. A file's number is its version.
func versions() ([]Migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]Migration, 0, len(files))
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: version, Name: path.Base(file)})
	}
	return all, nil
}

// inDialect is a migration with its SQL in a dialect.
func inDialect(d *dialect, step Migration) (Migration, error) {
	var err error
	step.SQL, err = render(d, migrations, "migrations/"+step.Name)
	return step, err
}

// run makes the step in a transaction.
func (m Migration) run(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, strings.ReplaceAll(m.SQL, concurrently, "CREATE INDEX")); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

var (
	wordPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{(\w+)((?: "[^"]*")*)\}\}`) })
	textPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"([^"]*)"`) })
)

// render writes a migration in a dialect.
func render(d *dialect, files fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return "", err
	}
	rendered := wordPattern().ReplaceAllStringFunc(string(text), func(word string) string {
		parts := wordPattern().FindStringSubmatch(word)
		var texts []string
		for _, match := range textPattern().FindAllStringSubmatch(parts[2], -1) {
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
		case parts[1] == "countchanges" && len(texts) == 4:
			return d.countchanges(texts[0], texts[1], texts[2], texts[3])
		case parts[1] == "noted" && len(texts) > 1:
			return d.noted(texts[0], texts[1:])
		}
		return word
	})
	if _, word, found := strings.Cut(rendered, "{{"); found {
		word, _, _ = strings.Cut(word, "}}")
		return "", fmt.Errorf("%s: {{%s}} is no word of migrations, or lacks its texts", path.Base(file), word)
	}
	return rendered, nil
}
