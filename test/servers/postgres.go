//go:build unix

package servers

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
	"sync"
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
	settings []string
	process  *process
	made     atomic.Int64 // databases

	mu       sync.Mutex
	prepared map[string]bool // the databases that others are copies of
}

const (
	// The server's superuser, who needs the password.
	postgresUser     = "genway"
	postgresPassword = "canary-of-the-database"
	// execWithin bounds a statement.
	execWithin = 30 * time.Second
)

// PostgresDatabase makes an empty database on the server that the package's tests
// share, and returns its URL. The test's end drops it.
func PostgresDatabase(tb testing.TB) string {
	tb.Helper()
	return sharedPostgres(tb).Database(tb)
}

// PostgresCopy is PostgresDatabase of a copy: of a database of that name, which prepare fills when it is asked for first. A
// copy costs less than to migrate an empty one. prepare leaves no connection open.
func PostgresCopy(tb testing.TB, name string, prepare func(url string) error) string {
	tb.Helper()
	p := sharedPostgres(tb)
	if err := p.prepare(tb.Context(), name, prepare); err != nil {
		tb.Fatal(err)
	}
	return p.database(tb, " TEMPLATE "+name)
}

func (p *Postgres) prepare(ctx context.Context, name string, prepare func(url string) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prepared[name] {
		return nil
	}
	if err := p.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	if err := prepare(p.URL(name)); err != nil {
		return err
	}
	if p.prepared == nil {
		p.prepared = map[string]bool{}
	}
	p.prepared[name] = true
	return nil
}

func sharedPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.postgres == nil {
		p, err := StartPostgres()
		if err != nil {
			tb.Fatal(err)
		}
		shared.postgres = p
	}
	return shared.postgres
}

// NewPostgres starts a server for only this test, which may kill it. The test's end
// ends it. Settings are beside those of a server that forgets everything in a power cut:
// "fsync=on".
func NewPostgres(tb testing.TB, settings ...string) *Postgres {
	tb.Helper()
	p, err := StartPostgres(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.End)
	return p
}

// StartPostgres is NewPostgres for a caller who ends the server.
func StartPostgres(settings ...string) (*Postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, as, err := directory("pg")
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: bin, dir: dir, as: as, settings: settings}
	err = p.initialize()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
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
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
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
	if err := os.WriteFile(password, []byte(postgresPassword), 0o644); err != nil {
		return err
	}
	if err := command(p.dir, p.as, filepath.Join(p.bin, "initdb"), "--pgdata="+p.data(), "--username="+postgresUser,
		"--auth=scram-sha-256", "--pwfile="+password, "--encoding=UTF8", "--no-locale", "--no-sync"); err != nil {
		return err
	}
	return nil
}

// Start starts the server, again after Kill.
func (p *Postgres) Start() error {
	args := []string{"-D", p.data(), "-k", p.dir}
	defaults := []string{
		"listen_addresses=", "max_connections=300", "shared_buffers=32MB",
		"fsync=off", "full_page_writes=off", "log_min_messages=warning", "log_min_error_statement=panic",
	}
	for _, setting := range slices.Concat(defaults, p.settings) {
		args = append(args, "-c", setting)
	}
	process, err := start(p.dir, p.as, "database system is ready to accept connections", filepath.Join(p.bin, "postgres"), args...)
	if err == nil {
		p.process = process
	}
	return err
}

// Kill ends the server at once, as `pg_ctl stop -m immediate` does: its connections
// break, and it recovers as it starts again.
func (p *Postgres) Kill() { p.process.signal(syscall.SIGQUIT) }

// End ends the server for good.
func (p *Postgres) End() {
	p.Kill()
	_ = os.RemoveAll(p.dir) // what is left is the system's to sweep
}

// Database makes an empty database and returns its URL. The test's end drops it.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	return p.database(tb, "")
}

func (p *Postgres) database(tb testing.TB, template string) string {
	tb.Helper()
	name, err := p.create(tb.Context(), template)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.exec(context.WithoutCancel(tb.Context()), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // a killed server drops none
	})
	return p.URL(name)
}

// Create makes an empty database and returns its name.
func (p *Postgres) Create(ctx context.Context) (name string, err error) { return p.create(ctx, "") }

func (p *Postgres) create(ctx context.Context, template string) (name string, err error) {
	name = fmt.Sprintf("test%d", p.made.Add(1))
	return name, p.exec(ctx, "CREATE DATABASE "+name+template)
}

// URL is that of a database of the server, with the password.
func (p *Postgres) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresUser, postgresPassword), Path: "/" + database,
		RawQuery: url.Values{"host": {p.dir}}.Encode(),
	}
	return u.String()
}

// exec runs a statement in the server's administrative database.
func (p *Postgres) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, execWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
