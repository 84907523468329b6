package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
)

// failing is an output that takes some bytes and then fails.
type failing struct{ takes int }

func (f *failing) Write(p []byte) (int, error) {
	n := min(len(p), f.takes)
	if f.takes -= n; n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

// outputs are those that cannot be written.
func outputs(t *testing.T) map[string]func() io.Writer {
	t.Helper()
	all := map[string]func() io.Writer{
		"one that fails":          func() io.Writer { return &failing{} },
		"one that fails half-way": func() io.Writer { return &failing{takes: 20} },
		"a closed file": func() io.Writer {
			file, err := os.Create(filepath.Join(t.TempDir(), "closed"))
			if err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
			return file
		},
		"a pipe that nobody reads": func() io.Writer {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_ = reader.Close()
			t.Cleanup(func() { _ = writer.Close() })
			return writer
		},
	}
	for name, at := range map[string]struct {
		file string
		flag int
	}{"a full disk": {"/dev/full", os.O_WRONLY}, "what the runtime opens for a closed output": {"/dev/null", os.O_RDWR}} {
		if runtime.GOOS != "linux" {
			continue
		}
		all[name] = func() io.Writer {
			file, err := os.OpenFile(at.file, at.flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return file
		}
	}
	return all
}

// A key that cannot be printed is not made, and one whose new secret cannot be printed is not rotated: it would be lost.
func TestKeysAreNotLost(t *testing.T) {
	onStore := t.TempDir()
	server, flags := administrated(t)
	file := filepath.Join(t.TempDir(), "k.csv")
	write(t, file, "group,name\nchat,a\nchat,b\n")
	for where, at := range map[string]struct {
		dir   string
		flags []string
	}{"on a store": {onStore, nil}, "on a server": {server, flags}} {
		raw := strings.TrimSpace(must(t, at.dir, append([]string{"keys", "create", "--group=chat", "--name=ci"}, at.flags...)...))
		before := must(t, at.dir, "keys", "list", "--format=json") + must(t, at.dir, "audit", "list")
		for what, args := range map[string][]string{
			"create": {"keys", "create", "--group=chat", "--name=lost"},
			"rotate": {"keys", "rotate", "ci", "--grace=0s"},
			"import": {"keys", "import", file},
			"link":   {"console", "link"},
		} {
			if what != "link" {
				args = append(args, at.flags...)
			}
			for how, output := range outputs(t) {
				if err := genwayTo(t, at.dir, output(), args...); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("%s, %s, %s: %v", where, what, how, err)
				}
				if after := must(t, at.dir, "keys", "list", "--format=json") + must(t, at.dir, "audit", "list"); after != before {
					t.Fatalf("%s, %s, %s: %s", where, what, how, after)
				}
			}
		}
		authentic(t, at.dir, raw)
		for what, args := range map[string][]string{
			"a name that is taken":   {"keys", "create", "--group=chat", "--name=ci"},
			"a wrong setting":        {"keys", "create", "--group=admin", "--models=m"},
			"a key that there isn't": {"keys", "rotate", "nobody"},
			"a grace too long":       {"keys", "rotate", "ci", "--grace=99999h"},
		} {
			if out, err := genway(t, at.dir, append(args, at.flags...)...); err == nil || out != "" {
				t.Errorf("%s, %s: %q, %v", where, what, out, err)
			}
		}
		rotated := strings.TrimSpace(must(t, at.dir, append([]string{"keys", "rotate", "ci", "--grace=0s"}, at.flags...)...))
		authentic(t, at.dir, rotated)
		imported := strings.Split(strings.TrimSpace(must(t, at.dir, append([]string{"keys", "import", file}, at.flags...)...)), "\n")
		if len(imported) != 3 || imported[0] != "id,group,name,key" {
			t.Fatalf("%s: %q", where, imported)
		}
		for i, name := range []string{"a", "b"} {
			cells := strings.Split(imported[i+1], ",")
			if id := authentic(t, at.dir, cells[3]); id != cells[0] || cells[1] != "chat" || cells[2] != name {
				t.Errorf("%s: %s of %q", where, id, cells)
			}
		}
	}
}

// authentic demands that a key is good, and returns its id.
func authentic(t *testing.T, dir, raw string) (id string) {
	t.Helper()
	err := coreproc.Data{Dir: dir}.WithKeys(t.Context(), func(ring *keys.Service) error {
		who, err := ring.Authenticate(t.Context(), raw)
		id = who.KeyID
		return err
	})
	if err != nil {
		t.Errorf("%.8s…: %v", raw, err)
	}
	return id
}

// An import into a file that the caller names leaves the file only with the keys, for its user alone.
func TestImportIntoFile(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	file, made := filepath.Join(at, "k.csv"), filepath.Join(at, "made.csv")
	write(t, file, "group,name\nchat,a\n")
	for how, to := range map[string]string{"a folder that there isn't": filepath.Join(at, "no", "made.csv"), "a file that is there": file, "a folder": at} {
		if out, err := genway(t, dir, "keys", "import", file, "--out", to); err == nil || out != "" {
			t.Errorf("%s: %q, %v", how, out, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a store was made: %v, %v", entries, err)
	}
	must(t, dir, "keys", "create", "--group=chat", "--name=a")
	if _, err := genway(t, dir, "keys", "import", file, "--out", made); err == nil {
		t.Error("a name twice")
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("a failed import left its file: %v", err)
	}
	write(t, file, "group,name\nchat,b\n")
	if out := must(t, dir, "keys", "import", file, "--out", made); out != "" {
		t.Errorf("printed %q", out)
	}
	info, err := os.Stat(made)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	cells := strings.Split(strings.TrimSpace(string(text)), ",")
	authentic(t, dir, cells[len(cells)-1])
	if runtime.GOOS == "linux" {
		before := must(t, dir, "keys", "list")
		write(t, file, "group,name\nchat,c\n")
		if _, err := genway(t, dir, "keys", "import", file, "--out", "/dev/full"); err == nil || must(t, dir, "keys", "list") != before {
			t.Errorf("a full disk: %v", err)
		}
	}
}

// A first start whose keys cannot be printed fails and makes none: the next start is the first.
func TestFirstKeysAreNotLost(t *testing.T) {
	serve := []string{"serve", "--first-keys=print", "--http=127.0.0.1:0", "--grpc=127.0.0.1:0", "--console=127.0.0.1:0"}
	for how, output := range outputs(t) {
		dir := t.TempDir()
		if err := genwayTo(t, dir, output(), serve...); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", how, err)
		}
		if list := must(t, dir, "keys", "list"); strings.Contains(list, "key_") {
			t.Errorf("%s: %s", how, list)
		}
	}
}
