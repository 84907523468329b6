package store

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is what the databases do not have in common. Statements are written once, in
// the SQL that both know, with ? for each argument.
type dialect struct {
	goose goose.Dialect
	// migrations is the directory of its migrations.
	migrations string
	// foreign is a query of what a database has that has no schema of Genway yet; empty where
	// programs share databases.
	foreign string
	// hasTable is a query of whether there is a table of a name.
	hasTable string
	// tables is a query of the names of all tables.
	tables string
	// partitions is a query of how many partitions the ledger has; empty where there are none.
	partitions string
	// bind writes a statement's placeholders as the database wants them.
	bind func(statement string) string
	// lock is run first in a transaction that changes what it has read; empty where
	// a transaction excludes others as it begins.
	lock string
	// isolation has a transaction see one state of the database, and fail where another
	// one changes what it does.
	isolation sql.IsolationLevel
	// sum is the sum of a column of integers, saturated: the largest integer where it is
	// more than that.
	sum func(column string) string
	// overflow says that an error is of a plain sum that an integer cannot hold.
	overflow func(error) bool
	// room and noRoom are statements that raise the bound on how much of the database a
	// connection has in memory, and put it back; empty where the server sees to that.
	room, noRoom string
	// arrays says that a statement may take a column of values as one argument.
	arrays bool
	// rowValues says that rows of several columns are compared by an index of these columns. Statements are to
	// do so where the planner goes by statistics, and may take another index instead that has to be read for long.
	rowValues bool
	// newest and oldest are statements: the transactions that may have begun are before
	// newest's number, those that have ended are all before oldest's. Empty where a
	// transaction that writes excludes others.
	newest, oldest string
	// taken says that an error is of a key that exists already.
	taken func(error) bool
	// refused says that an error is of the values of a statement, and not of the database's
	// state: the statement fails again.
	refused func(error) bool
	// retry says that an error is of transactions that were in each other's way, and
	// that doing it again is right.
	retry func(error) bool
}

// A transaction that begins to write as it begins cannot be refused in its midst because
// another one wrote first: see params.
var sqliteDialect = dialect{
	goose:      goose.DialectSQLite3,
	migrations: "sqlite",
	foreign:    `SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND tbl_name <> '` + versionTable + `' ORDER BY name LIMIT 1`,
	hasTable:   `SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?`,
	tables:     `SELECT name FROM sqlite_master WHERE type = 'table'`,
	bind:       func(statement string) string { return statement },
	// In KiB. With 100,000 keys in the store, 500 KiB had half of what an import took go into
	// writing and reading the same pages again.
	room:   `PRAGMA cache_size = -16384`,
	noRoom: `PRAGMA cache_size = -500`,
	// A plain sum of SQLite's that overflows is an error, which has no code of its own. This
	// one adds the halves of the numbers, and takes a third longer.
	overflow: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code() == sqlite3.SQLITE_ERROR
	},
	sum: func(column string) string {
		low := "sum(" + column + " & 4294967295)"
		high := "(sum(" + column + " >> 32) + (" + low + " >> 32))"
		return "CASE WHEN " + high + " > 2147483647 THEN 9223372036854775807 ELSE (" + high + " << 32) | (" + low + " & 4294967295) END"
	},
	taken: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE)
	},
	refused: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		if !ok {
			return false
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
			return true
		}
		return false
	},
	// Connections that wait for the write lock poll it, so one may find it taken each time until
	// its busy timeout ends.
	retry: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
	},
}

var postgresDialect = dialect{
	goose:      goose.DialectPostgres,
	migrations: "postgres",
	hasTable:   `SELECT to_regclass(?) IS NOT NULL`,
	// Partitions are none, and a database may have thousands of them.
	tables:     `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND pg_table_is_visible(oid)`,
	partitions: `SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('ledger')`,
	bind:       numbered,
	// A plain sum of PostgreSQL's is a numeric.
	overflow: func(err error) bool { return sqlState(err) == "22003" }, // numeric_value_out_of_range
	sum: func(column string) string {
		return "CAST(CASE WHEN sum(" + column + ") > 9223372036854775807 THEN 9223372036854775807 ELSE sum(" + column + ") END AS BIGINT)"
	},
	// Readers go on; who changes waits.
	lock:      `LOCK TABLE keys_version IN EXCLUSIVE MODE`,
	isolation: sql.LevelRepeatableRead,
	arrays:    true,
	rowValues: true,
	newest:    `SELECT txid_snapshot_xmax(txid_current_snapshot())`,
	oldest:    `SELECT txid_snapshot_xmin(txid_current_snapshot())`,
	taken:     func(err error) bool { return sqlState(err) == "23505" },
	refused: func(err error) bool {
		state := sqlState(err)
		if len(state) != 5 {
			return false
		}
		switch state[:2] {
		// Data exception, integrity constraint violation, program limit exceeded, and an
		// exception that a trigger raises.
		case "22", "23", "54", "P0":
			return true
		}
		return false
	},
	retry: func(err error) bool {
		switch sqlState(err) {
		case "40001", "40P01": // serialization_failure, deadlock_detected
			return true
		case "23514": // check_violation: of no constraint, it is of a partition whose bounds have changed meanwhile
			e, _ := errors.AsType[*pgconn.PgError](err)
			return e.ConstraintName == ""
		}
		return false
	},
}

// sqlState is the code of an error that the PostgreSQL server has reported, else empty.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// numbered writes each ? as $1, $2 and so on. No statement has one in a text.
func numbered(statement string) string {
	var b strings.Builder
	b.Grow(len(statement) + 16)
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}
