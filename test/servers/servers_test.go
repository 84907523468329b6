//go:build unix

package servers_test

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/genway/genway/test/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.Main{M: m}) }

// What is committed outlives a killed PostgreSQL; each database is empty and its own.
func TestPostgres(t *testing.T) {
	p := servers.NewPostgres(t)
	first, second := p.Database(t), p.Database(t)
	run := func(location, statement string) error {
		conn, err := pgx.Connect(t.Context(), location)
		if err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), statement)
		return errors.Join(err, conn.Close(t.Context()))
	}
	if err := run(first, "CREATE TABLE one (n bigint)"); err != nil {
		t.Fatal(err)
	}
	if err := run(second, "SELECT FROM one"); err == nil {
		t.Error("two databases are one")
	}
	p.Kill()
	if err := run(first, "SELECT FROM one"); err == nil {
		t.Error("a killed server answers")
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := run(first, "SELECT FROM one"); err != nil {
		t.Error(err)
	}
	if err := run(strings.Replace(first, "canary", "another", 1), "SELECT 1"); err == nil {
		t.Error("the password does not matter")
	}
}

// The tests of a package share one server.
func TestShared(t *testing.T) {
	host := func(location string) string {
		config, err := pgx.ParseConfig(location)
		if err != nil {
			t.Fatal(err)
		}
		return config.Host
	}
	if one, other := servers.PostgresDatabase(t), servers.PostgresDatabase(t); one == other || host(one) != host(other) {
		t.Errorf("%s and %s", one, other)
	}
	if one, other := servers.SharedRedis(t), servers.SharedRedis(t); one != other {
		t.Error("there are two servers")
	}
	// A test that runs again (-count=2) finds none of its names, and all of others'.
	run := func(args ...string) string {
		t.Helper()
		answer, err := servers.SharedRedis(t).Command(args...)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	t.Run("again", func(t *testing.T) {
		servers.SharedRedis(t)
		for _, name := range []string{"{" + t.Name() + "}:a", "{" + t.Name() + "/b}:c", "{" + t.Name() + "st}:d", "{Test}:e"} {
			run("SET", name, "1")
		}
	})
	if left := strings.Fields(run("KEYS", "*")); len(left) != 2 {
		t.Errorf("%q are left", left)
	}
}

func TestRedis(t *testing.T) {
	r := servers.NewRedis(t)
	ping := func() error {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", r.Socket())
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return err
		}
		if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "+PONG\r\n" {
			t.Errorf("got %q, %v", answer, err)
		}
		return nil
	}
	if err := ping(); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	if ping() == nil {
		t.Error("a killed server answers")
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if err := ping(); err != nil {
		t.Error(err)
	}
	r.End()
	if _, err := os.Stat(r.Socket()); err == nil {
		t.Error("an ended server leaves its files")
	}
}
