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
)

const (
	// partialDirs are the names of directories in which files are written until they are whole.
	partialDirs = ".genway-*"
	partialName = "partial"
	// partialLock is a file that the writing process holds a lock on.
	partialLock = "lock"
	// partialTries is how many directories are made at most until one is locked.
	partialTries = 10
)

// whole makes a file under another name, accessible only to its owner, and renames it once it
// is on the disk. A file of that name is never replaced. First it removes what processes that were
// killed have left in the directory.
func whole(ctx context.Context, file string, write func(partial string) error) error {
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
// contain only files that whole makes. It ignores errors.
func removeStale(ctx context.Context, parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, partialDirs))
	if err != nil {
		return // the parent's name is a pattern that is malformed
	}
	for _, dir := range dirs {
		if !ours(dir) {
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

// ours reports whether a directory has the lock's file and, besides, at most a partial file and SQLite's journals.
func ours(dir string) bool {
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
