package programs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// spoiltName is in the name of each key whose page is spoilt.
const spoiltName = "a name to be found in the file of the store"

// damagedPages spoils pages of a store: of keys and of the record of changes, of a server that
// starts, and of keys under one that serves, where an administrator's list reads them.
func damagedPages(t *testing.T, _ stores) {
	data := t.TempDir()
	metrics := socket(t)
	file := filepath.Join(data, "genway.db")
	form := server.Options{Data: data, Args: []string{"--metrics-listen", "unix:" + metrics}}
	first := server.Start(t, form)
	form.Keys = first.Keys
	var table strings.Builder
	table.WriteString("group,name\n")
	for n := range 10_000 { // several times the 500 KiB that a connection to the store keeps in memory
		fmt.Fprintf(&table, "chat,%s %d\n", spoiltName, n)
	}
	many := filepath.Join(t.TempDir(), "keys.csv")
	write(t, many, table.String())
	if out, err := server.Output("genway", slices.Concat([]string{"keys", "import", many}, server.At(data))...); err != nil {
		t.Fatal(err, out)
	}
	admin, err := server.CreateKey(data, "admin", "administrator")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil { // which brings all into the file
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reported := func(t *testing.T, s *server.Server) {
		t.Helper()
		awaitReady(t, s.URL(), "store")
		if log := s.Core.Log(); strings.Count(log, "THE STORE IS DAMAGED") != 1 {
			t.Errorf("the log does not have the damage once:\n%s", log)
		}
		if text := page(t, metrics, "/metrics"); !strings.Contains(text, "\ngenway_store_damaged 1\n") {
			t.Errorf("the metrics:\n%s", text)
		}
	}
	t.Run("the record of changes at start", func(t *testing.T) {
		write(t, file, string(whole))
		spoil(t, file, "key.import")
		reported(t, server.Start(t, form))
	})
	t.Run("keys at start", func(t *testing.T) {
		write(t, file, string(whole))
		spoil(t, file, spoiltName)
		p, err := server.StartProcess("genway", "serve", "--data", data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Exited():
		case <-time.After(time.Minute):
			p.Kill()
			t.Fatalf("a server without its keys serves\n%s", p.Log())
		}
		if err := p.Stop(); err == nil || !strings.Contains(p.Log(), "the database is damaged: restore it from a backup") {
			t.Errorf("a server without its keys: %v\n%s", err, p.Log())
		}
	})
	t.Run("keys while serving", func(t *testing.T) {
		write(t, file, string(whole))
		s := server.Start(t, form)
		awaitReady(t, s.URL(), "")
		spoil(t, file, spoiltName)
		key := filepath.Join(t.TempDir(), "key")
		write(t, key, admin)
		if out, err := server.Output("genway", "keys", "list", "--server", s.GRPC, "--server-key-file", key); err == nil {
			t.Errorf("keys of damaged pages are listed, %d bytes", len(out))
		} else if text := err.Error(); !unanswered.MatchString(text) || strings.Contains(text, "malformed") || strings.Contains(text, "damaged") {
			t.Errorf("a list of damaged pages: %v", err)
		}
		reported(t, s)
	})
}

// unanswered is what the administrator reads: the page of the administrator's own key is damaged
// too, so that the list fails at the key or, where that page is in memory, at the keys.
var unanswered = regexp.MustCompile("the store does not answer|keys cannot be checked at the moment")

// spoil overwrites the pages of a store that have a text.
func spoil(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	page, spoilt := make([]byte, 4096), 0
	for at := int64(0); ; at += int64(len(page)) {
		if _, err := file.ReadAt(page, at); err != nil {
			break // the end
		}
		if !bytes.Contains(page, []byte(text)) {
			continue
		}
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xa5}, len(page)), at); err != nil {
			t.Fatal(err)
		}
		spoilt++
	}
	if spoilt < 50 {
		t.Fatalf("%d pages were spoilt", spoilt)
	}
}
