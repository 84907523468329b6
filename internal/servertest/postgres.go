//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a PostgreSQL server.
type Postgres struct {
	bin, dir string
	as       *syscall.Credential
	process  *process
	made     atomic.Int64 // databases
}

// The server's superuser, who needs the password.
const (
	postgresUser     = "genway"
	PostgresPassword = "canary-of-the-database"
)

// PostgresDatabase makes an empty database on the server that the package's tests
// share, and gives its URL. The test's end drops it.
func PostgresDatabase(tb testing.TB) string {
	tb.Helper()
	return sharedPostgres(tb).Database(tb)
}

func sharedPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.postgres == nil {
		p, err := newPostgres()
		if err != nil {
			tb.Fatal(err)
		}
		shared.postgres = p
	}
	return shared.postgres
}

// NewPostgres starts a server for this test alone, which may kill it. The test's end
// ends it.
func NewPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	p, err := newPostgres()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.end)
	return p
}

func newPostgres() (*Postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, as, err := directory("pg")
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: bin, dir: dir, as: as}
	if err := errors.Join(p.initialize(), p.start()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// postgresPrograms is the directory of the server's programs: that of the newest
// version Debian has installed, else what pg_config or PATH say.
func postgresPrograms() (string, error) {
	candidates, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	// pg_config may be that of the client alone.
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil { //nolint:noctx // it prints a line
		candidates = append([]string{strings.TrimSpace(string(out))}, candidates...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append([]string{filepath.Dir(path)}, candidates...)
	}
	for _, bin := range slices.Backward(candidates) {
		_, initdb := os.Stat(filepath.Join(bin, "initdb"))
		_, server := os.Stat(filepath.Join(bin, "postgres"))
		if initdb == nil && server == nil {
			return bin, nil
		}
	}
	return "", errors.New("PostgreSQL's server is not installed: run `make test-deps`")
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// initialize makes the cluster: an administrator with a password, and a server that
// forgets everything in a power cut.
func (p *Postgres) initialize() error {
	password := filepath.Join(p.dir, "password")
	if err := os.WriteFile(password, []byte(PostgresPassword), 0o644); err != nil { //nolint:gosec // another user reads it
		return err
	}
	if err := command(p.dir, p.as, filepath.Join(p.bin, "initdb"), "--pgdata="+p.data(), "--username="+postgresUser,
		"--auth=scram-sha-256", "--pwfile="+password, "--encoding=UTF8", "--no-locale", "--no-sync"); err != nil {
		return err
	}
	return nil
}

func (p *Postgres) start() error {
	args := []string{"-D", p.data(), "-k", p.dir}
	for _, setting := range []string{
		"listen_addresses=", "max_connections=300", "shared_buffers=32MB",
		"fsync=off", "full_page_writes=off", "log_min_messages=warning", "log_min_error_statement=panic",
	} {
		args = append(args, "-c", setting)
	}
	process, err := start(p.dir, p.as, "database system is ready to accept connections", filepath.Join(p.bin, "postgres"), args...)
	if err == nil {
		p.process = process
	}
	return err
}

// Start starts the server again after Kill.
func (p *Postgres) Start(tb testing.TB) {
	tb.Helper()
	if err := p.start(); err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server at once, as `pg_ctl stop -m immediate` does: its connections
// break, and it recovers as it starts again.
func (p *Postgres) Kill() { p.process.signal(syscall.SIGQUIT) }

func (p *Postgres) end() {
	p.Kill()
	_ = os.RemoveAll(p.dir) // what is left is the system's to sweep
}

// Database makes an empty database and gives its URL. The test's end drops it.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", p.made.Add(1))
	p.Exec(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startWithin)
		defer cancel()
		_ = p.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // one that was killed drops nothing
	})
	return p.URL(name)
}

// URL is that of a database of the server, with the password.
func (p *Postgres) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresUser, PostgresPassword), Path: "/" + database,
		RawQuery: url.Values{"host": {p.dir}}.Encode(),
	}
	return u.String()
}

// Exec runs statements in the server's administrative database.
func (p *Postgres) Exec(tb testing.TB, statements string) {
	tb.Helper()
	if err := p.exec(tb.Context(), "postgres", statements); err != nil {
		tb.Fatal(err)
	}
}

func (p *Postgres) exec(ctx context.Context, database, statements string) error {
	return PostgresExec(ctx, p.URL(database), statements)
}

// PostgresExec runs statements in the database of a URL.
func PostgresExec(ctx context.Context, location, statements string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, location)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements)
	return errors.Join(err, conn.Close(ctx))
}
