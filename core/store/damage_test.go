package store_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

// A check finds a damaged page, and distinguishes it from a store that does not answer.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "genway.db")
	open := func() *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), store.Config{Location: path})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	whole := open()
	if err := whole.Check(t.Context()); err != nil {
		t.Errorf("a whole file: %v", err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	found := 0
	for at := 2 * page; at+page <= len(file); at += page {
		spoilt := bytes.Clone(file)
		copy(spoilt[at:], bytes.Repeat([]byte{0xa5}, page))
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), store.Config{Location: path})
		if err != nil {
			if store.Damaged(err) {
				found++
			}
			continue
		}
		if err := s.Check(t.Context()); store.Damaged(err) {
			found++
		}
		_ = s.Close()
	}
	if found < len(file)/page-3 {
		t.Errorf("of %d damaged pages %d were found", len(file)/page-2, found)
	}
}

// Damage that any statement meets while a file is open is remembered, whatever became of the
// error: here that of a list of keys, while the version of the keys is read well.
func TestDamageMet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "genway.db")
	const marker = "a name that is found in the file"
	list := make([]keys.Key, 1000)
	for n := range list {
		list[n] = keys.Key{ID: strconv.Itoa(n), Group: keys.GroupChat, Settings: keys.Settings{Name: fmt.Sprint(marker, n)}, CreateTime: time.Now()}
		list[n].Secrets = []keys.Secret{{Hash: sha256.Sum256([]byte(list[n].ID)), CreateTime: time.Now()}}
	}
	for _, create := range []bool{true, false} {
		s, err := store.Open(t.Context(), store.Config{Location: path})
		if err != nil {
			t.Fatal(err)
		}
		if create {
			if err := s.Keys().Create(t.Context(), list, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			spoil(t, path, marker)
			if _, err := s.Keys().Version(t.Context()); err != nil || s.Damage() != nil {
				t.Errorf("before the damage is met: %v, %v", err, s.Damage())
			}
			if _, err := s.Keys().List(t.Context(), keys.Query{Limit: 1000}); !store.Damaged(err) {
				t.Errorf("a list of keys of damaged pages: %v", err)
			}
			if _, err := s.Keys().Version(t.Context()); err != nil || !store.Damaged(s.Damage()) {
				t.Errorf("once the damage was met: %v, %v", err, s.Damage())
			}
		}
		if err := s.Close(); err != nil { // which brings all from the write-ahead log into the file
			t.Fatal(err)
		}
	}
}

// spoil overwrites the pages of a file that hold a text.
func spoil(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	spoilt := 0
	for at := 0; at+page <= len(file); at += page {
		if bytes.Contains(file[at:at+page], []byte(text)) {
			copy(file[at:], bytes.Repeat([]byte{0xa5}, page))
			spoilt++
		}
	}
	if spoilt == 0 {
		t.Fatalf("no page of %d has %q", len(file)/page, text)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}
