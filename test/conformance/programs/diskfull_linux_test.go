package programs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// fullDisk fills the disk under the data and makes room again.
func fullDisk(t *testing.T, _ stores) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a small file system needs root: nothing is known of readiness on a full disk")
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
	s := server.Start(t, server.Options{Data: data, TwoProcess: true})
	awaitReady(t, s.URL(), "")
	filler := filepath.Join(data, "filler")
	fill(t, filler)
	awaitReady(t, s.URL(), "ledger")
	if got := healthOf(t, s.GRPC, "genway.v1.Generation", ""); got != "NOT_SERVING, SERVING" {
		t.Errorf("health on a full disk: %s", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, s.URL(), "")
	if got := healthOf(t, s.GRPC, "genway.v1.Generation", ""); got != "SERVING, SERVING" {
		t.Errorf("health with room again: %s", got)
	}
}

// fill writes a file until there is no room for more.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := bytes.Repeat([]byte{1}, 4<<10); err == nil; {
		_, err = f.Write(piece)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
