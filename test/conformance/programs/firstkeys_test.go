package programs

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/server"
	"golang.org/x/sys/unix"
)

// missingKeys starts programs on stores without keys, and commands on stores that are not
// there.
func missingKeys(t *testing.T, _ stores) {
	run := func(data, program string, args ...string) *server.Process {
		t.Helper()
		p, err := server.StartProcess(program, append(args, "--data", data, "--grpc", "127.0.0.1:0", "--log-format", "json")...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		})
		return p
	}
	// What logs that there is no key says how to make one.
	for program, args := range map[string][]string{"genway-core": nil, "genway": {"serve", "--http", "127.0.0.1:0", "--first-keys=none"}} {
		data := t.TempDir()
		line, err := run(data, program, args...).Await("there is no key, so no client can call; make one")
		if err != nil {
			t.Fatal(err)
		}
		command := strings.Fields(line["command"])
		if len(command) < 2 || command[0] != "genway" {
			t.Fatalf("%s: %v", program, line)
		}
		if key, err := server.Output("genway", command[1:]...); err != nil || !strings.HasPrefix(key, "gwk_") {
			t.Errorf("%s: %q makes %q, %v", program, line["command"], key, err)
		}
		if list := genway(t, data, "keys", "list"); strings.Count(list, "key_") != 1 {
			t.Errorf("%s made keys of its own:\n%s", program, list)
		}
	}
	// Two that start at once on one directory make the first keys once.
	data := filepath.Join(t.TempDir(), "new")
	var both sync.WaitGroup
	for range 2 {
		p := run(data, "genway", "serve", "--http", "127.0.0.1:0")
		both.Go(func() {
			if _, err := p.Await("genway is up"); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if list := genway(t, data, "keys", "list"); strings.Count(list, "default-") != 4 {
		t.Errorf("the first keys:\n%s", list)
	}
	// A mistyped directory is an error, and is not created.
	typo := filepath.Join(t.TempDir(), "typo")
	for _, command := range []string{"keys list", "keys show a", "keys revoke a", "audit list", "usage", "ledger check"} {
		if out, err := server.Output("genway", append(strings.Fields(command), "--data", typo)...); err == nil || !strings.Contains(err.Error(), typo) {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
	if _, err := os.Stat(typo); err == nil {
		t.Error("the mistyped directory was made")
	}
	// A name is taken once in its group.
	if _, err := server.CreateKey(data, "chat", "ci"); err != nil {
		t.Error(err)
	}
	if key, err := server.CreateKey(data, "chat", "ci"); err == nil || !strings.Contains(err.Error(), "it is taken") {
		t.Errorf("%q, %v", key, err)
	}
}

// keptKeys demands that a server without a terminal writes its first keys to a file that only its user
// can read, and to no other place; with a terminal they are printed.
func keptKeys(t *testing.T, _ stores) {
	data := filepath.Join(t.TempDir(), "new")
	args := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json"}
	var both sync.WaitGroup
	var servers []*server.Process
	for range 2 {
		p, err := server.StartProcess("genway", args...)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, p)
		both.Go(func() {
			if _, err := p.Await("genway is up"); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	files, err := filepath.Glob(filepath.Join(data, "first-keys*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("two servers that start at once leave %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 || strings.Count(string(text), "gwk_") != 4 {
		t.Errorf("%v, %v, %d keys", info.Mode(), err, strings.Count(string(text), "gwk_"))
	}
	named := 0
	for _, p := range servers {
		if strings.Contains(p.Log(), files[0]) {
			named++
		}
		if strings.Contains(p.Log(), "gwk_") {
			t.Errorf("a key is in the log:\n%s", p.Log())
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	if named != 1 {
		t.Errorf("%d logs name %s", named, files[0])
	}
	// On a terminal.
	path, err := server.Binary("genway")
	if err != nil {
		t.Fatal(err)
	}
	master, slave := terminal(t)
	printed := filepath.Join(t.TempDir(), "printed")
	cmd := exec.Command(path, append(args, "--data", printed)...)
	cmd.Stdout = slave
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := ""
	for buffer := make([]byte, 4<<10); !strings.Contains(seen, "More keys:"); {
		n, err := master.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			t.Fatalf("%v behind\n%s", err, seen)
		}
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "genway is up") { // keys are printed before they are made
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, log)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(printed, "first-keys*")); len(files) > 0 || !rawKey.MatchString(seen) {
		t.Errorf("on a terminal: %v\n%s", files, seen)
	}
}

// terminal opens a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}
