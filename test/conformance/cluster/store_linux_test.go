package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/network"
	"github.com/jackc/pgx/v5"
)

// store is two PostgreSQL servers, of which one is the primary and the other its synchronous
// standby: what the primary has committed the standby has on its disk.
type store struct {
	tb      testing.TB
	bin     string
	as      *syscall.Credential
	servers [2]*program
	data    [2]string
	disks   [2]*disk // of their write-ahead logs
	primary int
}

const (
	storeUser     = "genway"
	storePassword = "a-password-of-the-cluster"
)

// startStore starts both servers, with an empty database.
func startStore(tb testing.TB, dir, bin string, as *syscall.Credential, hosts [2]*network.Host) (*store, error) {
	s := &store{tb: tb, bin: bin, as: as}
	for i, host := range hosts {
		home := filepath.Join(dir, fmt.Sprintf("db%d", i+1))
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, int(as.Uid), int(as.Gid))); err != nil {
			return nil, err
		}
		s.data[i] = filepath.Join(home, "data")
		var err error
		if s.disks[i], err = mountDisk(tb, home, as); err != nil {
			return nil, err
		}
		s.servers[i] = &program{tb: tb, name: fmt.Sprintf("db%d", i+1), host: host, as: as, path: filepath.Join(bin, "postgres"),
			log: filepath.Join(home, "log"), up: "ready to accept",
			args: []string{"-D", s.data[i], "-c", "listen_addresses=" + host.IP, "-c", "unix_socket_directories=", "-c", "wal_level=replica",
				"-c", "max_wal_senders=10", "-c", "wal_keep_size=256MB", "-c", "hot_standby=on", "-c", "max_connections=100", "-c", "log_min_messages=warning"}}
		if err := ownLog(s.servers[i]); err != nil {
			return nil, err
		}
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(storePassword), 0o644); err != nil {
		return nil, err
	}
	if err := s.run(0, "initdb", "--pgdata="+s.data[0], "--waldir="+s.wal(0), "--username="+storeUser, "--auth=scram-sha-256", "--pwfile="+password, "--encoding=UTF8", "--no-locale"); err != nil {
		return nil, err
	}
	rules, err := os.OpenFile(filepath.Join(s.data[0], "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = rules.WriteString("host all all 198.18.0.0/15 scram-sha-256\nhost replication all 198.18.0.0/15 scram-sha-256\n") //nolint:dupword // all databases, all users
	if err := errors.Join(err, rules.Close(), s.servers[0].start(), s.exec("postgres", "CREATE DATABASE genway")); err != nil {
		return nil, err
	}
	err = s.join()
	return s, err
}

// ownLog makes the log of a program for its user.
func ownLog(p *program) error {
	file, err := os.Create(p.log)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Chown(p.log, int(p.as.Uid), int(p.as.Gid)))
}

// run runs a program of PostgreSQL's to its end, on the host of a server.
func (s *store) run(i int, name string, args ...string) error {
	all := append([]string{"--reuid", strconv.Itoa(int(s.as.Uid)), "--regid", strconv.Itoa(int(s.as.Gid)), "--clear-groups", filepath.Join(s.bin, name)}, args...)
	cmd := s.servers[i].host.Command("setpriv", all...)
	cmd.Dir, cmd.Env = filepath.Dir(s.data[i]), append(os.Environ(), "LC_ALL=C", "TZ=UTC", "PGPASSWORD="+storePassword)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// wal is the folder of a server's write-ahead log.
func (s *store) wal(server int) string { return filepath.Join(s.disks[server].path, "wal") }

// join makes the server that is not the primary a new standby, and waits until commits wait for it.
func (s *store) join() error {
	other := 1 - s.primary
	if err := errors.Join(os.RemoveAll(s.data[other]), os.RemoveAll(s.wal(other))); err != nil {
		return err
	}
	if err := s.run(other, "pg_basebackup", "--host="+s.servers[s.primary].host.IP, "--username="+storeUser, "--pgdata="+s.data[other], "--waldir="+s.wal(other),
		"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	// The standby was copied before this setting, so a promoted standby commits without waiting for
	// another one.
	err := errors.Join(s.servers[other].start(), s.exec("genway", "ALTER SYSTEM SET synchronous_standby_names = '*'"), s.exec("genway", "SELECT pg_reload_conf()"))
	if err != nil {
		return err
	}
	return s.synchronous(time.Time{})
}

// synchronous waits for a standby that has connected since then and whose copy commits wait for.
func (s *store) synchronous(since time.Time) error {
	return within("the standby is not synchronous", func() bool {
		var count int
		err := s.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND backend_start > '"+since.UTC().Format(time.RFC3339Nano)+"'", &count)
		return err == nil && count == 1
	})
}

// promote makes the standby the primary.
func (s *store) promote() error {
	s.primary = 1 - s.primary
	return s.exec("genway", "SELECT pg_promote()")
}

// url is the database's, by which a client finds the primary.
func (s *store) url() string {
	return storeURL("genway", s.servers[0], s.servers[1]) + "&target_session_attrs=read-write&connect_timeout=15"
}

// storeURL names a database on servers of which a client uses the first that suits it.
func storeURL(database string, servers ...*program) string {
	hosts := make([]string, len(servers))
	for i, server := range servers {
		hosts[i] = net.JoinHostPort(server.host.IP, "5432")
	}
	return "postgres://" + storeUser + ":" + storePassword + "@" + strings.Join(hosts, ",") + "/" + database + "?sslmode=disable"
}

func (s *store) exec(database, statement string) error {
	return s.on(database, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// ask asks the primary for one value.
func (s *store) ask(statement string, into any) error {
	return s.on("genway", func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, statement).Scan(into) })
}

func (s *store) on(database string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, storeURL(database, s.servers[s.primary]))
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, conn), conn.Close(ctx))
}

// storePrograms is the folder of PostgreSQL's programs.
func storePrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	for _, bin := range found {
		if _, err := os.Stat(filepath.Join(bin, "pg_basebackup")); err == nil {
			return bin, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed")
}
