//go:build unix

package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/servers"
)

// A PostgreSQL that dies in the midst of an import, or that ends its connection, leaves nothing
// of it: the command says so and prints no key, and it can be run again. Keys are printed before the commit: where that is
// refused, the command says that nothing was imported, and where its answer is lost, that it is not known.
func TestImportIntoDyingPostgres(t *testing.T) {
	server, dir := servers.NewPostgres(t), t.TempDir()
	at := server.Database(t)
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(dir, "k.csv")
	const n = 1600
	write(t, file, csvOf(n, ""))
	must(t, dir, "keys", "create", "--group=chat", "--name=before", "--store", at)
	const inserted = `CREATE TRIGGER die BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION die()`
	const committed = `CREATE CONSTRAINT TRIGGER die AFTER INSERT ON keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()`
	const nothing = "nothing was imported"
	for how, c := range map[string]struct {
		// body is what the server does at the key in the middle, when trigger calls it.
		body, trigger string
		kill          bool
		want          string
		printed       int
	}{
		"the connection is ended":        {"PERFORM pg_terminate_backend(pg_backend_pid());", inserted, false, nothing, 0},
		"the server is killed":           {"PERFORM pg_sleep(600);", inserted, true, nothing, 0},
		"the commit is refused":          {"RAISE 'no';", committed, false, nothing, n},
		"the server is killed at commit": {"PERFORM pg_sleep(600);", committed, true, "it is not known whether the change was made", n},
	} {
		t.Run(how, func(t *testing.T) {
			statements(t, at, `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.name = 'k1500' THEN `+c.body+` END IF; RETURN NEW; END $$`,
				c.trigger)
			type result struct {
				out string
				err error
			}
			ended := make(chan result, 1)
			go func() {
				out, err := genway(t, dir, "keys", "import", file, "--store", at)
				ended <- result{out, err}
			}()
			if c.kill {
				asleep(t, at)
				server.Kill()
			}
			got := <-ended
			if got.err == nil || strings.Count(got.out, ",gwk_") != c.printed || !strings.Contains(got.err.Error(), c.want) || strings.Contains(got.err.Error(), nothing) != (c.want == nothing) {
				t.Errorf("%.300q, %v", got.out, got.err)
			}
			if c.kill {
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
			}
			statements(t, at, `DROP FUNCTION die CASCADE`)
			if list := must(t, dir, "keys", "list", "--store", at); strings.Count(list, "key_") != 1 {
				t.Errorf("left behind: %.500s", list)
			}
			if out := must(t, dir, "audit", "verify", "--store", at); !strings.HasPrefix(out, "whole: 1 entries") {
				t.Error(out)
			}
		})
	}
	if out := must(t, dir, "keys", "import", file, "--store", at); strings.Count(out, ",gwk_") != n {
		t.Errorf("run again: %d lines", strings.Count(out, "\n"))
	}
	if list := must(t, dir, "keys", "list", "--store", at); strings.Count(list, "key_") != n+1 {
		t.Errorf("%d keys", strings.Count(list, "key_"))
	}
}

// statements executes statements in a database.
func statements(t *testing.T, at string, all ...string) {
	t.Helper()
	db, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range all {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// asleep waits until the server sleeps in an insertion.
func asleep(t *testing.T, at string) {
	t.Helper()
	db, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		var sleeping bool
		if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep')`).Scan(&sleeping); err != nil {
			t.Fatal(err)
		}
		if sleeping {
			return
		}
	}
}
