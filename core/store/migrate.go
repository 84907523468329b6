package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
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

// ErrPending is returned if the database's schema is older than the program's.
var ErrPending = errors.New("run genway migrate up, or start with --migrate=auto")

// errUnreleased is returned for a database that a build from before the first release has made.
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
	// Name is the name of its file, such as 00001_schema.sql.
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

const (
	// migrationLock is the advisory lock of those who migrate a PostgreSQL database: "genway" in ASCII.
	migrationLock = 0x67656e776179
	// serverAsked is how often the server is asked whether it still answers while it migrates.
	serverAsked = time.Second
	// waitsEvery is how often Config.Waits is called during a wait.
	waitsEvery = time.Minute
	// unlockWithin bounds the unlocking, which the end of the connection does as well.
	unlockWithin = 5 * time.Second
)

// Wait is that a process waits for another one, which migrates the same PostgreSQL database.
type Wait struct {
	// Store is the address of the database, without the password.
	Store string
	// Holder is the process that holds the lock of migrations, by its number in pg_stat_activity, with the name, the
	// user, the address and the time that the server shows to this user.
	Holder string
	// Waited is for how long it is waited already.
	Waited time.Duration
}

// migratePostgres brings the schema up to date if mode allows it, and returns the migrations that were pending. One
// process migrates at a time, by goose's session lock. Where nothing is pending, nothing is locked or written, so that
// a user of the server who may not change the schema will do for it.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, mode Migrate, waits func(Wait)) ([]Migration, error) {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "genway migrate"
	watched := config.Copy()
	bound(watched)
	watch := &migrationWatch{db: connections(watched, 1), every: waitsEvery, waits: waits}
	defer watch.db.pool.Close() //nolint:errcheck // it wrote nothing
	todo, err := pending(ctx, watch.db, mode)
	if err != nil || len(todo) == 0 {
		return nil, err
	}
	// Statements have no bound, since they may have much to do. What a process that was interrupted has begun ends soon,
	// and with it the lock: when the server notices that the process has ended, or its machine does not answer.
	maps.Copy(config.RuntimeParams, map[string]string{
		"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
		"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "4",
	})
	db := connections(config, 1, stdlib.OptionAfterConnect(noticeEnd))
	defer db.pool.Close() //nolint:errcheck // what it wrote is committed
	return todo, watch.during(ctx, func(ctx context.Context) error { return up(ctx, db, goose.WithSessionLocker(watch)) })
}

// noticeEnd has the server look, while it runs a statement, for whether this program has ended. Not every server can.
func noticeEnd(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET client_connection_check_interval = '2s'`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// migrationWatch is goose's session lock, and what watches the server meanwhile over a connection whose silence is
// bounded.
type migrationWatch struct {
	db    database
	every time.Duration
	waits func(Wait)
	held  atomic.Bool
}

// SessionLock waits for others that migrate, without end.
func (w *migrationWatch) SessionLock(ctx context.Context, conn *sql.Conn) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, math.MaxInt32))
	if err != nil {
		return err
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for others that migrate: %w", err)
	}
	w.held.Store(true)
	return nil
}

// SessionUnlock releases the lock.
func (w *migrationWatch) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, unlockWithin)
	defer cancel()
	return locker.SessionUnlock(ctx, conn)
}

// during runs do, and ends its context when the server does not answer.
func (w *migrationWatch) during(ctx context.Context, do func(context.Context) error) error {
	within, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if err := w.watch(within); err != nil {
			end(err)
		}
	})
	err := do(within)
	silent := context.Cause(within)
	end(nil)
	watch.Wait()
	if err != nil && silent != nil && ctx.Err() == nil {
		return silent
	}
	return err
}

// watch asks the server until ctx ends. It calls waits as a wait for another process begins, and then once in every.
func (w *migrationWatch) watch(ctx context.Context) error {
	tick := time.NewTicker(serverAsked)
	defer tick.Stop()
	// A transaction, which keeps to one connection: sql.DB would try others.
	return w.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		for begun, calls := time.Now(), 0; ; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			waited := time.Since(begun)
			if w.held.Load() || w.waits == nil || waited < time.Duration(calls)*w.every {
				if _, err := tx.exec(ctx, "--"); err != nil {
					return err
				}
				continue
			}
			holder, err := holderOf(ctx, tx, migrationLock)
			if err != nil {
				return err
			}
			if holder != "" && !w.held.Load() {
				w.waits(Wait{Store: w.db.errs.address, Holder: holder, Waited: waited})
				calls++
			}
		}
	})
}

// holderOf describes who holds an advisory lock of the database; empty is nobody.
func holderOf(ctx context.Context, tx transaction, lock int64) (string, error) {
	var number int64
	var name, user, from string
	var since sql.NullTime
	err := tx.row(ctx, `SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.usename::text, ''), COALESCE(host(a.client_addr), ''), a.xact_start
		FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.classid::bigint = ? AND l.objid::bigint = ?
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`, lock>>32, lock&0xffffffff).Scan(&number, &name, &user, &from, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var holder strings.Builder
	fmt.Fprintf(&holder, "process %d", number)
	for _, part := range []struct{ before, text string }{{" (", name}, {" of user ", user}, {" from ", from}} {
		if part.text == "" {
			continue
		}
		holder.WriteString(part.before + part.text)
		if part.before == " (" {
			holder.WriteString(")")
		}
	}
	if since.Valid {
		holder.WriteString(" since " + since.Time.UTC().Format(time.RFC3339))
	}
	return holder.String(), nil
}
