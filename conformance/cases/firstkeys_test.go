package cases

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/conformance/server"
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
		said, err := run(data, program, args...).Await("there is no key, so nobody can call; make one")
		if err != nil {
			t.Fatal(err)
		}
		command := strings.Fields(said["command"])
		if len(command) < 2 || command[0] != "genway" {
			t.Fatalf("%s: %v", program, said)
		}
		if key, err := server.Output("genway", command[1:]...); err != nil || !strings.HasPrefix(key, "gwk_") {
			t.Errorf("%s: %q makes %q, %v", program, said["command"], key, err)
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
	// A mistyped directory is told, and not made.
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
