package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite" // also the driver "sqlite", SQLite in Go
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// busyTimeout is how long a writer waits for another one.
	busyTimeout = 5 * time.Second
	// maxConns bounds the connections of a store, beside the ledger's one. Of a file,
	// each has its own page cache, and readers share it with one writer; more would only
	// queue.
	maxConns = 4
)

// openFile opens an SQLite database, which any number of processes of one machine may
// have open.
//
// The journal is a write-ahead log, so that readers and the writer do not wait for
// each other, and synchronous is FULL: a commit is on the disk when it returns. In
// NORMAL a power cut could undo the last commits, and with them a revocation that
// was reported as done; keys change too seldom for the difference to matter.
func openFile(ctx context.Context, cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Location)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", cfg.Location, err)
	}
	if _, err := os.Stat(path); cfg.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open store %s: %w", path, ErrMissing)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open store: create directory %s: %w", filepath.Dir(path), reason(err))
	}
	store := &Store{}
	err = exclusively(ctx, path, func() (err error) {
		store.db, err = openSQLite(ctx, path, cfg.Migrate)
		return err
	})
	if err == nil {
		if store.writer, err = openWriter(path, cfg.RelaxLedger); err != nil {
			err = errors.Join(err, store.db.pool.Close())
		}
		store.rows = newRowWriter(store.writer.pool)
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, explain(path, err))
	}
	store.file = path
	return store, nil
}

// explain says of a database that cannot be opened or written whether it is damaged, or whether
// it is its directory that cannot be written, where SQLite also keeps the write-ahead log.
func explain(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT {
		return damage(err)
	}
	if !ok || e.Code()&0xff != sqlite3.SQLITE_CANTOPEN && e.Code()&0xff != sqlite3.SQLITE_READONLY {
		return err
	}
	probe, probed := os.CreateTemp(filepath.Dir(path), ".writable-*")
	switch {
	case probed != nil:
		return fmt.Errorf("directory %s is not writable: %w: %w", filepath.Dir(path), reason(probed), err)
	case e.Code()&0xff == sqlite3.SQLITE_CANTOPEN:
		err = fmt.Errorf("%w: does it belong to another user?", err)
	}
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

func openSQLite(ctx context.Context, path string, mode Migrate) (database, error) {
	if err := private(path); err != nil {
		return database{}, err
	}
	db, err := sqlitePool(path)
	if err != nil {
		return database{}, err
	}
	todo, err := pending(ctx, db, mode)
	if err == nil && len(todo) > 0 {
		err = up(ctx, db)
	}
	if err != nil {
		return database{}, errors.Join(err, db.pool.Close())
	}
	return db, nil
}

// sqlitePool is a pool of connections to a file.
func sqlitePool(path string) (database, error) {
	pool, err := sql.Open("sqlite", dsn(path, params("FULL")))
	if err != nil {
		return database{}, err
	}
	pool.SetMaxOpenConns(maxConns)
	pool.SetMaxIdleConns(maxConns)
	return database{pool: pool, dialect: &sqliteDialect, errs: &errorTracker{}, statements: &statementCache{}}, nil
}

// openWriter returns the one connection that writes the ledger; it is made when it is
// used first.
func openWriter(path string, relaxed bool) (database, error) {
	synchronous := "FULL"
	if relaxed {
		synchronous = "NORMAL"
	}
	params := params(synchronous)
	// The check of an outcome, of five texts, is half of what writing an entry costs
	// SQLite, which makes a table of them for each row. Write checks it instead; others who
	// write are checked by the database.
	params.Add("_pragma", "ignore_check_constraints(1)")
	// A statement of several rows keeps each page that it changes as it was, so that it can be undone alone. In a
	// temporary file, that is two writes a page: more than a third of what writing an entry costs.
	params.Add("_pragma", "temp_store(memory)")
	pool, err := sql.Open("sqlite", dsn(path, params))
	if err != nil {
		return database{}, err
	}
	pool.SetMaxOpenConns(1)
	return database{pool: pool, dialect: &sqliteDialect, errs: &errorTracker{}}, nil
}

func params(synchronous string) url.Values {
	return url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {synchronous},
		"_foreign_keys": {"1"},
		// A transaction that begins to write as it begins cannot be refused in its
		// midst because another one wrote first.
		"_txlock": {"immediate"},
		// In KiB, of each connection, where SQLite's own is 2000. The ledger grows at its end
		// and a report reads it once, so that more is filled by the first report and hardly
		// used again: with a ledger of 100,000 rows it was 7 MB of a gateway at rest.
		"_pragma": {"cache_size(-500)"},
	}
}

// exclusively runs do while no other process runs it for the same path: two that
// migrated at once would both run the same migrations, and switching a new file to
// the write-ahead log does not wait for others as statements do.
//
// The lock is an exclusive transaction on an empty database beside the file: one
// kind of lock on every system SQLite knows, which waits with a limit and which a
// dying process cannot leave behind.
func exclusively(ctx context.Context, path string, do func() error) error {
	lock := path + ".lock"
	if err := private(lock); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(lock, url.Values{"_txlock": {"exclusive"}}))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it wrote nothing
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock, err)
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	return do()
}

// creating is held while a file descriptor of ours is open. Closing one drops all
// locks that the process has on the file, SQLite's among them (fcntl(2), "Advisory
// record locking"): that must have happened before another goroutine opens it.
var creating sync.Mutex

// private creates an empty file that only its owner can access, or removes the rights
// of others. SQLite makes the files beside a database with the same rights.
func private(path string) error {
	creating.Lock()
	defer creating.Unlock()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator says where
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("directory %s is not writable: %w", filepath.Dir(path), reason(err))
	}
	// By its path, since a file that exists may be locked.
	info, err := os.Stat(path)
	if err != nil {
		return reason(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("restrict it to its owner: %w", reason(err))
	}
	return nil
}

// dsn is the driver's name for the database at path, which is absolute.
func dsn(path string, params url.Values) string {
	if !params.Has("_busy_timeout") {
		params.Set("_busy_timeout", strconv.FormatInt(busyTimeout.Milliseconds(), 10))
	}
	params.Set("_dqs", "0")      // "x" is a column, never by mistake a text
	params.Set("_error_rc", "1") // an error says what happened to it, not to another
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // file:///C:/…
	}
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: params.Encode()}
	return uri.String()
}

// reason strips the operation and the path from the file system's errors where they
// are named already.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// Unwritable reports whether an error says that the database cannot be written as it
// stands: its disk is full, or it or its file system is read-only, or its disk takes no
// writes. Such errors do not pass by themselves.
func Unwritable(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() {
		case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC:
			return true // of a file system that became read-only while the file is open
		}
		return e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code()&0xff == sqlite3.SQLITE_READONLY
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "53100" || e.Code == "25006") // disk_full, read_only_sql_transaction
}

// ErrDamaged is returned for a database whose pages are not what was written.
var ErrDamaged = errors.New("the database is damaged: restore it from a backup, or save what can be read by sqlite3's .recover (docs/operation.md, When a store or disk fails)")

// Damaged reports whether an error says that the database is damaged: pages of a file, or what
// PostgreSQL calls data_corrupted and index_corrupted.
func Damaged(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB
	}
	if state := sqlState(err); state == "XX001" || state == "XX002" {
		return true
	}
	return errors.Is(err, ErrDamaged)
}

// Check reads all of an SQLite file and returns ErrDamaged, with what is wrong, when pages of
// it are damaged (PRAGMA quick_check). It takes a second or two for each gigabyte, and blocks
// no one. PostgreSQL checks its pages itself: of it the error is always nil.
func (s *Store) Check(ctx context.Context) error {
	if s.db.dialect != &sqliteDialect {
		return nil
	}
	rows, err := s.db.pool.QueryContext(ctx, "PRAGMA quick_check(3)")
	if err != nil {
		return unchecked(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return unchecked(err)
		}
		if line != "ok" {
			found = append(found, line)
		}
	}
	if err := rows.Err(); err != nil {
		return unchecked(err)
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %s", ErrDamaged, strings.ReplaceAll(strings.Join(found, "; "), "\n", " "))
	}
	return nil
}

// damage adds ErrDamaged, once, to an error that is Damaged.
func damage(err error) error {
	if errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// unchecked is the error of a check that could not be made.
func unchecked(err error) error {
	if Damaged(err) {
		return damage(err)
	}
	return fmt.Errorf("check the database: %w", err)
}
