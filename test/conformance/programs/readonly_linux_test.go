package programs

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
)

// readOnlyFolder starts servers on data that cannot be written: of none, of a server that
// ended, of one that was killed.
func readOnlyFolder(t *testing.T, _ stores) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a read-only file system needs root: nothing is known of a start on one")
	}
	data := t.TempDir()
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	refused := func(when, dir, want string) {
		t.Helper()
		remount(t, data, syscall.MS_RDONLY)
		before := files(t, data)
		p, err := server.StartProcess("genway", "serve", "--data", dir, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Exited():
		case <-time.After(time.Minute):
			p.Kill()
			t.Fatalf("%s: the server does not end\n%s", when, p.Log())
		}
		err = p.Stop()
		if err == nil || !strings.Contains(err.Error(), "exit status 1") {
			t.Errorf("%s: %v, want exit status 1", when, err)
		}
		if log := p.Log(); !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("%s: %q, want one line with %q", when, log, want)
		}
		if after := files(t, data); !slices.Equal(before, after) {
			t.Errorf("%s: %q, before %q", when, after, before)
		}
		remount(t, data, 0)
		if after := files(t, data); !slices.Equal(before, after) {
			t.Errorf("%s, writable again: %q, before %q", when, after, before)
		}
	}
	unwritable := "directory " + data + " is not writable: read-only file system"
	refused("an empty directory", data, unwritable)
	refused("a directory that is not there", filepath.Join(data, "missing"), "create directory "+filepath.Join(data, "missing")+": read-only file system")

	s := server.Start(t, server.Options{Data: data})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	refused("data of a server that ended", data, unwritable)

	killed, err := server.Launch(server.Options{Data: data, Keys: s.Keys})
	if err != nil {
		t.Fatal(err)
	}
	killed.Core.Kill()
	refused("data of a server that was killed", data, unwritable)

	again := server.Start(t, server.Options{Data: data, Keys: s.Keys})
	awaitReady(t, again.URL(), "")

	t.Run("while serving", becomesReadOnly)
}

// becomesReadOnly has a file system find an error in itself while a server writes to it.
func becomesReadOnly(t *testing.T) {
	dir := t.TempDir()
	image, data := filepath.Join(dir, "image"), filepath.Join(dir, "data")
	for _, args := range [][]string{
		{"truncate", "--size=32M", image},
		{"mkfs.ext4", "-q", image},
		{"mkdir", data},
		{"mount", "-o", "loop,errors=remount-ro", image, data},
	} {
		if output, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s: %v: %s: nothing is known of a file system that becomes read-only", args[0], err, output)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, 0); err != nil {
			t.Error(err)
		}
	})
	mounted, err := exec.CommandContext(t.Context(), "findmnt", "--noheadings", "--output", "SOURCE", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Launch(server.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop() // its last entries are lost, as its exit code says
	client, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := caller.Call{Protocol: "chat", Model: "sandbox-text", Key: s.Keys["chat"]}
	if err := os.WriteFile("/sys/fs/ext4/"+filepath.Base(strings.TrimSpace(string(mounted)))+"/trigger_fs_error", []byte("1"), 0o200); err != nil {
		t.Skip("SKIPPED: ", err, ": nothing is known of a file system that becomes read-only")
	}
	if seen, err := client.Do(t.Context(), call); err != nil || seen.Status != http.StatusOK || !seen.Whole {
		t.Errorf("a request while entries may wait: %+v, %v", seen, err)
	}
	began := time.Now()
	awaitReady(t, s.URL(), "ledger")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("readiness reports it after %v, as of a store that is away for a moment", took)
	}
	err = s.Core.Stop()
	if log := s.Core.Log(); err == nil || !strings.Contains(log, "the ledger's last entries are") {
		t.Errorf("the end of a server whose entries are not written is silent: %v\n%s", err, log)
	}
}

func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "size=24m"); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(list, hidden...)
}
