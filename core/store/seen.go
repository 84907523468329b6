package store

import (
	"database/sql"
	"errors"
	"sync/atomic"
)

// seen keeps the first error of any statement of a store that says that the database is
// damaged, whatever its caller makes of the error.
type seen struct {
	// address is where a PostgreSQL database is, without the password. It is empty for a file.
	address string
	first   atomic.Pointer[error]
}

// note returns err back, with the address of a PostgreSQL database, and with what to do about it if it says that
// the database is damaged.
func (s *seen) note(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	err = addressed(s.address, err)
	if !Damaged(err) {
		return err
	}
	err = damage(err)
	s.first.CompareAndSwap(nil, &err)
	return err
}

// result is the rows that a statement gives. A caller that reads them to their end checks Err.
type result struct {
	*sql.Rows
	seen *seen
}

// Err is that of sql.Rows.
func (r *result) Err() error { return r.seen.note(r.Rows.Err()) }

// row is the one row of a statement.
type row struct {
	*sql.Row
	seen *seen
}

// Scan is that of sql.Row.
func (r row) Scan(into ...any) error { return r.seen.note(r.Row.Scan(into...)) }

// Damage is the first error of a statement since the store was opened that says that the
// database is damaged; nil is none.
func (s *Store) Damage() error {
	for _, seen := range []*seen{s.db.seen, s.writer.seen} {
		if first := seen.first.Load(); first != nil {
			return *first
		}
	}
	return nil
}
