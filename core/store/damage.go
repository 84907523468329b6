package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDamaged is of a database whose pages are not what was written.
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
