//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// raw opens a database behind the store's back.
func raw(t testing.TB, location string) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if store.IsPostgres(location) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// A database that a newer program has made useless for this one is left alone.
func TestOpenNewerSchema(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		if err := open(t, location).Close(); err != nil {
			t.Fatal(err)
		}
		run(t, raw(t, location), `INSERT INTO genway_schema (version_id, is_applied) VALUES (9999, TRUE)`, `UPDATE schema_least SET version = 9998`)
		s, err := store.Open(t.Context(), store.Config{Location: location})
		if err == nil {
			s.Close()
			t.Fatal("it opened")
		}
		if want := "version 9999,"; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "newer genway") {
			t.Errorf("got %q, want %q in it", err, want)
		}
	})
}

// What a table's triggers promise holds for changes by hand as well.
func TestVersionSeesChangesByHand(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		create(t, s)
		db := raw(t, location)
		last := int64(0)
		for _, statement := range []string{`SELECT 1`, `UPDATE keys SET name = 'hand'`, `DELETE FROM keys`} {
			run(t, db, statement)
			version, err := s.Keys().Version(t.Context())
			if err != nil || version == last {
				t.Errorf("after %s: version %d as before, %v", statement, version, err)
			}
			last = version
		}
	})
}

// A core follows what is changed by hand too: by a program of before, which knows nothing of
// it, by several rows at once, by a row that is taken away.
func TestChangesByHandAreFollowed(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		service, err := keys.New(keys.Config{Store: s.Keys(), Freshness: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		defer service.Close()
		minted, _, err := service.MintDefaults(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		is := func(group keys.Group, name string, want error) func() bool {
			return func() bool {
				p, err := service.Authenticate(t.Context(), minted[group])
				return errors.Is(err, want) && (want != nil || p.Name == name)
			}
		}
		for group := range minted {
			if !is(group, "default-"+string(group), nil)() {
				t.Errorf("%s is not good", group)
			}
		}
		await(t, service.Loaded)
		db := raw(t, location)
		run(t, db, `UPDATE keys SET name = 'hand' WHERE group_name IN ('chat', 'messages')`, `DELETE FROM keys WHERE group_name = 'internal'`,
			`UPDATE keys SET revoke_time = 1 WHERE group_name = 'generatecontent'`)
		await(t, is(keys.GroupChat, "hand", nil))
		await(t, is(keys.GroupMessages, "hand", nil))
		await(t, is(keys.GroupInternal, "", keys.ErrWrongKey))
		await(t, is(keys.GroupGenerateContent, "", keys.ErrWrongKey))

		// The store is put back to an earlier state.
		run(t, db, `UPDATE keys SET revoke_time = NULL WHERE group_name = 'generatecontent'`, `DELETE FROM keys_changes`, `UPDATE keys_version SET version = 1`)
		await(t, is(keys.GroupGenerateContent, "default-generatecontent", nil))
	})
}

// A transaction that numbers a change first and ends last holds up the others' numbers: who
// follows sees none of theirs before.
func TestNumbersBecomeVisibleInTheirOrder(t *testing.T) {
	location := servers.PostgresDatabase(t)
	s := opened(t, location)
	create(t, s)
	db := raw(t, location)
	first, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback()
	if _, err := first.ExecContext(t.Context(), `UPDATE keys SET owner = 'first'`); err != nil {
		t.Fatal(err)
	}
	before, err := s.Keys().Changed(t.Context(), keys.Position{}, 10)
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	second := make(chan error, 1)
	go func() { // by hand, without the lock that the program takes
		_, err := db.ExecContext(t.Context(), `INSERT INTO keys (id, hash, group_name, name, create_time) VALUES ('key_second', decode(repeat('07', 32), 'hex'), 'chat', '', 5)`)
		second <- err
	}()
	await(t, func() bool {
		var waiting int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted`).Scan(&waiting)
		return err == nil && waiting > 0
	})
	during, err := s.Keys().Changed(t.Context(), before[0], 10)
	if err != nil || len(during) != 0 {
		t.Errorf("ahead of the first transaction's end: %v, %v", during, err)
	}
	if err := errors.Join(first.Commit(), <-second); err != nil {
		t.Fatal(err)
	}
	after, err := s.Keys().Changed(t.Context(), before[0], 10)
	if err != nil || len(after) != 2 || after[0].Number >= after[1].Number || after[0].Hash != before[0].Hash {
		t.Errorf("after both: %v, %v", after, err)
	}
}

func create(t testing.TB, s *store.Store) {
	t.Helper()
	service, err := keys.New(keys.Config{Store: s.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat}); err != nil {
		t.Fatal(err)
	}
}

// A file of SQLite that another program has written is refused and left as it is.
func TestFileOfAnotherProgram(t *testing.T) {
	for _, has := range []string{`CREATE TABLE ledger (mine TEXT)`, `CREATE TABLE theirs (a TEXT)`, `CREATE VIEW theirs AS SELECT 1`} {
		file := filepath.Join(t.TempDir(), store.FileName)
		db := raw(t, file)
		run(t, db, has)
		before := schema(t, db)
		if s, err := store.Open(t.Context(), store.Config{Location: file}); err == nil || !strings.Contains(err.Error(), "the file is another program's") {
			t.Errorf("%s: %v, %v", has, s, err)
		}
		if got := schema(t, db); !maps.Equal(got, before) {
			t.Errorf("%s: it left %v", has, got)
		}
	}
}

// A database that a build of before the first release has made is refused, and left as it is.
func TestOpenRefusesUnreleased(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		if err := open(t, location).Close(); err != nil {
			t.Fatal(err)
		}
		db := raw(t, location)
		run(t, db, `ALTER TABLE genway_schema RENAME TO goose_db_version`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (18, TRUE)`)
		before := dump(t, location)
		_, opening := store.Open(t.Context(), store.Config{Location: location})
		_, reading := store.ReadSchema(t.Context(), store.Config{Location: location})
		_, migrating := store.MigrateUp(t.Context(), store.Config{Location: location})
		for _, err := range []error{opening, reading, migrating} {
			if err == nil || !strings.Contains(err.Error(), "a build of genway from before its first release has made it") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		}
		if after := dump(t, location); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	})
}

// A database of PostgreSQL that another program shares, which counts its migrations in goose's own table, is taken.
func TestOpenBesideAnotherProgram(t *testing.T) {
	location := servers.PostgresDatabase(t)
	run(t, raw(t, location), `CREATE TABLE goose_db_version (version_id bigint)`, `INSERT INTO goose_db_version VALUES (99)`, `CREATE TABLE theirs (a text)`)
	create(t, opened(t, location))
}

// What is in the way of a migration leaves no table of it.
func TestFirstSchemaIsWholeOrNothing(t *testing.T) {
	location := servers.PostgresDatabase(t)
	db := raw(t, location)
	run(t, db, `CREATE TABLE ledger (mine TEXT)`)
	if s, err := store.Open(t.Context(), store.Config{Location: location}); err == nil || !strings.Contains(err.Error(), `relation "ledger" already exists`) {
		t.Errorf("%v, %v", s, err)
	}
	if got := column(t, db, `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'genway_schema'`); len(got) != 1 || strings.TrimSpace(got[0]) != "ledger" {
		t.Errorf("it left %v", got)
	}
}

// schema are the statements that made a file's tables, indexes and triggers, by name,
// without what is white space to SQL.
func schema(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	statements := map[string]string{}
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			t.Fatal(err)
		}
		statements[name] = strings.Join(strings.Fields(statement), " ")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return statements
}

// Texts are ordered by their bytes on every system.
func TestPostgresCollation(t *testing.T) {
	location := kinds["PostgreSQL"](t)
	opened(t, location)
	var texts, others int
	if err := raw(t, location).QueryRowContext(t.Context(), `SELECT count(*), count(*) FILTER (WHERE collation_name IS DISTINCT FROM 'C')
		FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'text'`).Scan(&texts, &others); err != nil {
		t.Fatal(err)
	}
	if texts == 0 || others != 0 {
		t.Errorf("%d of %d columns are not in the collation C", others, texts)
	}
}

// A user who may read and write but not change the schema does for a core, once another
// has migrated.
func TestPostgresOpenWithoutRightToMigrate(t *testing.T) {
	location := servers.PostgresDatabase(t)
	admin := raw(t, location)
	run(t, admin, `DROP ROLE IF EXISTS worker`, `CREATE ROLE worker LOGIN PASSWORD 'canary-of-the-worker'`)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := admin.ExecContext(ctx, `DROP OWNED BY worker; DROP ROLE worker`); err != nil {
			t.Error(err)
		}
	})
	as := asUser(t, location, "worker", "canary-of-the-worker")
	_, err := store.Open(t.Context(), store.Config{Location: as})
	if err == nil || !strings.Contains(err.Error(), "permission denied for schema public") || strings.Contains(err.Error(), "\n") {
		t.Errorf("before the migration: %v", err)
	}
	opened(t, location)
	run(t, admin, `GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO worker`)
	s := opened(t, as)
	create(t, s)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ledger().Beat(t.Context(), process, ledger.Node{}, time.Now(), time.Now()); err != nil {
		t.Error(err)
	}
}
