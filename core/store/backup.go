package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrNoBackup is returned for PostgreSQL, which has its own tools.
var ErrNoBackup = errors.New("the store is PostgreSQL: use pg_dump and pg_restore, or the archive of its log (docs/operation.md, Backups)")

// Backup writes a copy of an SQLite database as it is at one moment into a new file, accessible
// only to its owner (0600). Servers go on meanwhile. The copy is read again before it gets its
// name, so that a file of that name is whole. What is not whole yet is in a directory .genway-NUMBER
// beside it; the next backup into the directory removes one whose process was killed.
func Backup(ctx context.Context, location, file string) error {
	if IsPostgres(location) {
		return ErrNoBackup
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("back up to %s: the file exists", file)
	}
	return withSchema(Config{Location: location, Existing: true}, func(db database) error {
		return writeAtomically(ctx, file, func(partial string) error {
			if _, err := db.pool.ExecContext(ctx, "VACUUM INTO ?", partial); err != nil {
				return fmt.Errorf("back up to %s: %w", file, err)
			}
			return checkBackup(ctx, partial)
		})
	})
}

// Restore puts a backup in the place of an SQLite database. A database that is there is an
// error unless replace is set: then it is kept under another name, which is returned. No
// other process may have it open.
func Restore(ctx context.Context, file, location string, replace bool) (kept string, err error) {
	if IsPostgres(location) {
		return "", ErrNoBackup
	}
	path, err := filepath.Abs(location)
	if err != nil {
		return "", err
	}
	if err := checkBackup(ctx, file); err != nil {
		return "", fmt.Errorf("restore from %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("restore: create directory %s: %w", filepath.Dir(path), reason(err))
	}
	err = exclusively(ctx, path, func() error {
		if _, err := os.Stat(path); err == nil {
			if !replace {
				return errors.New("there is a database already: --replace keeps it under another name")
			}
			if err := soleConnection(ctx, path); err != nil {
				return err
			}
			kept = path + time.Now().UTC().Format(".replaced-20060102T150405.000000000Z")
			if err := os.Rename(path, kept); err != nil {
				return reason(err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return reason(err)
		}
		return writeAtomically(ctx, path, func(partial string) error { return copyFile(file, partial) })
	})
	if err != nil {
		return kept, fmt.Errorf("restore to %s: %w", path, err)
	}
	return kept, nil
}

// checkBackup reads all of a file and says whether this program may use it.
func checkBackup(ctx context.Context, file string) error {
	if info, err := os.Stat(file); err != nil {
		return reason(err)
	} else if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s beside it has writes that the file lacks: it is no backup, but the file of a server", filepath.Base(file)+"-wal")
	}
	// Nothing else writes the file, which may be where nothing can be written.
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", dsn(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}))
	if err != nil {
		return err
	}
	defer pool.Close() //nolint:errcheck // it wrote nothing
	db := database{pool: pool, dialect: &sqliteDialect, errs: &errorTracker{}}
	if err := (&Store{db: db}).Check(ctx); err != nil {
		return err
	}
	schema, err := readSchema(ctx, db)
	switch {
	case err != nil:
		return err
	case schema.Version == 0:
		return errors.New("it is no backup of genway")
	case !schema.Compatible():
		return fmt.Errorf("its schema is version %d, for which a program must know version %d; this one knows %d", schema.Version, schema.Least, schema.Known)
	}
	return nil
}

// soleConnection fails when another connection has the file open, and folds the write-ahead log
// into it: SQLite ends that mode for the last connection only.
func soleConnection(ctx context.Context, path string) error {
	pool, err := sql.Open("sqlite", dsn(path, url.Values{}))
	if err != nil {
		return err
	}
	defer pool.Close() //nolint:errcheck // the mode is written
	pool.SetMaxOpenConns(1)
	var mode string
	err = pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_BUSY || err == nil && mode != "delete" {
		return errors.New("another process has the database open: end the servers first")
	}
	if Damaged(err) { // it is kept as it is
		return nil
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from) //nolint:gosec // the operator says where
	if err != nil {
		return reason(err)
	}
	defer in.Close()                                                      //nolint:errcheck // it was read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // likewise
	if err != nil {
		return reason(err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

const (
	// partialDirs are the names of directories in which files are written until they are whole.
	partialDirs = ".genway-*"
	partialName = "partial"
	// partialLock is a file that the writing process holds a lock on.
	partialLock = "lock"
	// partialTries is how many directories are made at most until one is locked.
	partialTries = 10
)

// writeAtomically makes a file under another name, accessible only to its owner, and renames it once it
// is on the disk. A file of that name is never replaced. First it removes what processes that were
// killed have left in the directory.
func writeAtomically(ctx context.Context, file string, write func(partial string) error) error {
	removeStale(ctx, filepath.Dir(file))
	dir, release, err := partialDir(ctx, filepath.Dir(file))
	if err != nil {
		return err
	}
	defer func() {
		release()
		_ = os.RemoveAll(dir) // only what is partial may be left
	}()
	partial := filepath.Join(dir, partialName)
	if err := write(partial); err != nil {
		return err
	}
	if err := os.Chmod(partial, 0o600); err != nil {
		return reason(err)
	}
	written, err := os.OpenFile(partial, os.O_RDWR, 0o600) //nolint:gosec // the operator says where
	if err != nil {
		return reason(err)
	}
	if err := errors.Join(written.Sync(), written.Close()); err != nil {
		return err
	}
	err = os.Link(partial, file)
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("write %s: %w", file, e.Err)
	}
	return err
}

// partialDir makes a directory and locks it. Another process may take it for stale until the lock
// is taken: then the next try makes another one. Each of the others can do so once, as it begins.
func partialDir(ctx context.Context, parent string) (dir string, release func(), err error) {
	for range partialTries {
		if dir, err = os.MkdirTemp(parent, partialDirs); err != nil {
			return "", nil, reason(err)
		}
		lock := filepath.Join(dir, partialLock)
		if err = private(lock); err == nil {
			release, err = tryLock(ctx, lock)
		}
		if err == nil {
			if _, err = os.Lstat(lock); err == nil {
				return dir, release, nil
			}
			release()
		}
		_ = os.RemoveAll(dir) // the error says more
	}
	return "", nil, err
}

// removeStale removes the directories of processes that have ended: those whose lock is free and which
// contain only files that writeAtomically makes. It ignores errors.
func removeStale(ctx context.Context, parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, partialDirs))
	if err != nil {
		return // the parent's name is a pattern that is malformed
	}
	for _, dir := range dirs {
		if !isPartialDir(dir) {
			continue
		}
		lock := filepath.Join(dir, partialLock)
		release, err := tryLock(ctx, lock)
		if err != nil {
			continue
		}
		_ = os.Remove(lock) // under the lock: partialDir, which locks it next, sees that the file is removed
		release()
		_ = os.RemoveAll(dir)
	}
}

// isPartialDir reports whether a directory has the lock's file and, besides, at most a partial file and SQLite's journals.
func isPartialDir(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	locked := false
	for _, entry := range entries {
		switch entry.Name() {
		case partialLock:
			locked = true
		case partialName, partialName + "-journal", partialLock + "-journal":
		default:
			return false
		}
		if entry.Type()&fs.ModeType != 0 {
			return false
		}
	}
	return err == nil && locked
}

// tryLock takes a lock as exclusively does, without waiting for others: a process that dies cannot leave it
// behind.
func tryLock(ctx context.Context, file string) (release func(), err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, url.Values{"_txlock": {"exclusive"}, "mode": {"rw"}, "_busy_timeout": {"0"}}))
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() { _ = errors.Join(tx.Rollback(), db.Close()) }, nil // it wrote nothing
}
