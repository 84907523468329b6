package compose

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program is what runs in the place of an image: Genway's own programs alone on an empty root, as in
// their images, and this machine's for the others.
type program struct {
	// environment is the image's.
	environment []string
	// command and health give what runs in a container.
	command, health func(*engine, *container) []string
}

// find returns the path of the first program that this machine has.
func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if found, _ := filepath.Glob(name); len(found) > 0 {
			return found[len(found)-1]
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("SKIPPED: the services of compose.yaml were not run: there is no %s", strings.Join(names, " and no "))
	return ""
}

func healthless(*engine, *container) []string { return nil }

// target matches a target of the Dockerfile, with its lines.
var target = regexp.MustCompile(`(?m)^FROM \S+ AS (\S+)\n((?:[A-Z].*\n)*)`)

// own returns one of Genway's programs as its target of the Dockerfile has it.
func own(t *testing.T, binaries, name string) program {
	t.Helper()
	dockerfile, err := os.ReadFile("../../image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	p := program{}
	var check []string
	for _, found := range target.FindAllStringSubmatch(string(dockerfile), -1) {
		if found[1] != name {
			continue
		}
		for line := range strings.Lines(found[2]) {
			if variables, ok := strings.CutPrefix(line, "ENV "); ok {
				p.environment = strings.Fields(variables)
			}
			if _, command, ok := strings.Cut(line, " CMD "); ok && strings.HasPrefix(line, "HEALTHCHECK") {
				if err := json.Unmarshal([]byte(command), &check); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(p.environment) == 0 || len(check) == 0 {
		t.Fatalf("the Dockerfile says nothing of %s", name)
	}
	p.command = func(e *engine, c *container) []string {
		return append(e.inside(c, filepath.Join(binaries, name)), append([]string{"/" + name}, c.service.Command...)...)
	}
	p.health = func(e *engine, c *container) []string {
		return append([]string{"chroot", "--userspec=65532:65532", c.dir}, check...)
	}
	return p
}

// inside lays out the root of one of Genway's images for a container, with the service's
// configurations and secrets, and returns the command that runs others in it.
func (e *engine) inside(c *container, binary string) []string {
	e.t.Helper()
	write := func(name string, text []byte) {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // another user reads it
			e.t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // likewise
			e.t.Fatal(err)
		}
	}
	write("etc/resolv.conf", []byte(resolver))
	write("etc/hosts", []byte("127.0.0.1 localhost\n"))
	for _, config := range c.service.Configs {
		text, err := os.ReadFile(e.project.Configs[config.Source].File)
		if err != nil {
			e.t.Fatal(err)
		}
		write(config.Target, text)
	}
	for _, secret := range c.service.Secrets {
		write(filepath.Join("run/secrets", secret.Source), []byte(strings.Repeat("5e", 32)+"\n"))
	}
	data := filepath.Join(c.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		e.t.Fatal(err)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		e.t.Fatal(err)
	}
	e.do("cp", binary, filepath.Join(c.dir, filepath.Base(binary)))
	return []string{"chroot", "--userspec=65532:65532", c.dir}
}

// config returns the file that a service mounts at a place.
func (e *engine) config(c *container, targetOf string) string {
	e.t.Helper()
	for _, config := range c.service.Configs {
		if config.Target == targetOf {
			return e.project.Configs[config.Source].File
		}
	}
	e.t.Fatalf("%s has nothing at %s", c.service.Name, targetOf)
	return ""
}

// others returns the programs of this machine that stand in for images of others.
func others(t *testing.T) map[string]program {
	t.Helper()
	haproxy, prometheus := find(t, "haproxy"), find(t, "prometheus")
	initdb, postgres, ready := find(t, "/usr/lib/postgresql/*/bin/initdb"), find(t, "/usr/lib/postgresql/*/bin/postgres"), find(t, "/usr/lib/postgresql/*/bin/pg_isready")
	server, client := find(t, "valkey-server", "redis-server"), find(t, "valkey-cli", "redis-cli")
	return map[string]program{
		"balancer": {command: func(e *engine, c *container) []string {
			return []string{haproxy, "-db", "-f", e.config(c, "/usr/local/etc/haproxy/haproxy.cfg")}
		}, health: healthless},
		"prometheus": {command: func(e *engine, c *container) []string {
			return []string{prometheus, "--config.file=" + e.config(c, "/etc/prometheus/prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(c.dir, "data")}
		}, health: healthless},
		"valkey": {command: func(_ *engine, c *container) []string {
			return append([]string{server, "--dir", c.dir, "--protected-mode", "no"}, c.service.Command[1:]...)
		}, health: func(*engine, *container) []string { return []string{client, "ping"} }},
		"postgres": {command: func(e *engine, c *container) []string {
			return database(e, c, initdb, postgres)
		}, health: func(_ *engine, c *container) []string {
			return []string{ready, "--host=" + c.dir, "--username=" + *c.service.Environment["POSTGRES_USER"]}
		}},
	}
}

// database makes a database as the image's entry point does, of the service's variables.
func database(e *engine, c *container, initdb, postgres string) []string {
	e.t.Helper()
	as := []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"}
	e.do("chown", "postgres", c.dir)
	variable := func(name string) string { return *c.service.Environment[name] }
	password, data := filepath.Join(c.dir, "password"), filepath.Join(c.dir, "data")
	if err := os.WriteFile(password, []byte(variable("POSTGRES_PASSWORD")), 0o644); err != nil { //nolint:gosec // a password of tests
		e.t.Fatal(err)
	}
	e.do(as[0], append(as[1:], initdb, "--pgdata="+data, "--username="+variable("POSTGRES_USER"), "--auth=scram-sha-256", "--pwfile="+password, "--no-sync")...)
	create := exec.CommandContext(e.t.Context(), as[0], append(as[1:], postgres, "--single", "-D", data, "postgres")...)
	create.Stdin = strings.NewReader("CREATE DATABASE " + variable("POSTGRES_DB") + "\n")
	if out, err := create.CombinedOutput(); err != nil {
		e.t.Fatalf("create the database: %v\n%s", err, out)
	}
	access, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // it is there
	if err != nil {
		e.t.Fatal(err)
	}
	defer access.Close()
	if _, err := access.WriteString("host all all all scram-sha-256\n"); err != nil {
		e.t.Fatal(err)
	}
	return append(as, postgres, "-D", data, "-c", "listen_addresses=*", "-c", "unix_socket_directories="+c.dir)
}
