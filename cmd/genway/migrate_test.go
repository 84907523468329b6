package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/store"
)

// The commands say what is pending, print it, make it, and wait for it. A store that is not
// there is pending as a whole.
func TestMigrateCommands(t *testing.T) {
	in := coreproc.Data{Dir: t.TempDir()}
	says := func(want string, run func(out *strings.Builder) error) {
		t.Helper()
		var out strings.Builder
		if err := run(&out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("got %q, %v; want %q", out.String(), err, want)
		}
	}
	says("Pending:\n  00001_schema.sql\n", func(out *strings.Builder) error { return (&migrateStatus{in}).Run(t.Context(), out) })
	says("CREATE TABLE keys", func(out *strings.Builder) error { return (&migrateUp{in, true}).Run(t.Context(), out) })
	if _, err := os.Stat(filepath.Join(in.Dir, store.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dry run made the store: %v", err)
	}
	var none strings.Builder
	if err := (&migrateWait{in, 0}).Run(t.Context(), &none); err == nil || !strings.Contains(err.Error(), "not within 0s: the schema is version 0") {
		t.Errorf("waiting: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- (&migrateWait{in, time.Minute}).Run(t.Context(), &strings.Builder{}) }()
	says("made 00001_schema.sql\n", func(out *strings.Builder) error { return (&migrateUp{Data: in}).Run(t.Context(), out) })
	if err := <-waited; err != nil {
		t.Errorf("waiting: %v", err)
	}
	says("The schema is up to date.\n", func(out *strings.Builder) error { return (&migrateUp{Data: in}).Run(t.Context(), out) })
	says("it is up to date.", func(out *strings.Builder) error { return (&migrateStatus{in}).Run(t.Context(), out) })

	file := filepath.Join(t.TempDir(), "backup.db")
	says("is a backup of", func(out *strings.Builder) error { return (&backupCommand{in, file}).Run(t.Context(), out) })
	says("The store that was there is ", func(out *strings.Builder) error { return (&restoreCommand{in, file, true}).Run(t.Context(), out) })
}

// Waiting for a database that accepts the connection and never answers ends with its time.
func TestMigrateWaitEnds(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	in := coreproc.Data{Store: "postgres://genway@" + silent.Addr().String() + "/genway?sslmode=disable&connect_timeout=3600"}
	waited := make(chan error, 1)
	go func() { waited <- (&migrateWait{in, time.Second}).Run(t.Context(), &strings.Builder{}) }()
	select {
	case err := <-waited:
		if err == nil || err.Error() != "not within 1s: the store does not answer" {
			t.Errorf("waiting: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the time was over a minute ago")
	}
}
