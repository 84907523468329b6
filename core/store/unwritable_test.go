package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/jackc/pgx/v5/pgconn"
)

// The errors of databases that are full or read-only are known, wrapped or not; others
// are not taken for them.
func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small.db")
	write := func(pragma, statement string) error {
		db, err := sql.Open("sqlite", "file:"+file+"?_pragma="+pragma)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		_, err = db.ExecContext(t.Context(), statement)
		return err
	}
	if err := write("foreign_keys(1)", "CREATE TABLE t (b BLOB)"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err        error
		unwritable bool
	}{
		"no error":             {nil, false},
		"another error":        {errors.New("disk full"), false},
		"SQLite, full":         {write("max_page_count(3)", "INSERT INTO t VALUES (zeroblob(100000))"), true},
		"SQLite, read-only":    {write("query_only(1)", "INSERT INTO t VALUES (1)"), true},
		"SQLite, another":      {write("foreign_keys(1)", "INSERT INTO t VALUES (1, 2)"), false},
		"PostgreSQL, full":     {fmt.Errorf("write: %w", &pgconn.PgError{Code: "53100"}), true},
		"PostgreSQL, standby":  {&pgconn.PgError{Code: "25006"}, true},
		"PostgreSQL, too many": {&pgconn.PgError{Code: "53300"}, false},
	} {
		if got := store.Unwritable(c.err); got != c.unwritable {
			t.Errorf("%s: %v, of %v", name, got, c.err)
		}
	}
}
