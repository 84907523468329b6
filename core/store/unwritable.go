package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

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
