//go:build unix

package store_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

func service(t testing.TB, location string, clock func() time.Time) *keys.Service {
	t.Helper()
	s, err := keys.New(keys.Config{Store: opened(t, location).Keys(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Neither the file nor what SQLite keeps beside it has a key or its random part.
func TestOnlyHashesAreStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), store.FileName)
	s := open(t, path)
	service, err := keys.New(keys.Config{Store: s.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	minted, first, err := service.MintDefaults(t.Context(), nil)
	if err != nil || !first {
		t.Fatal(first, err)
	}
	raws := slices.Collect(maps.Values(minted))
	created, key, err := service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "canary"}})
	if err != nil {
		t.Fatal(err)
	}
	raws = append(raws, created)
	if _, err := service.Authenticate(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	grep := func(when string) {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(content, []byte(key.ID))
			for _, raw := range raws {
				if bytes.Contains(content, []byte(raw[len(keys.Prefix):len(keys.Prefix)+8])) {
					t.Errorf("%s: %s has a key", when, filepath.Base(file))
				}
			}
		}
		if !found {
			t.Errorf("%s: no file among %v has the key's id, so this proves nothing", when, files)
		}
	}
	grep("in use") // what was written is in the log
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	grep("closed") // and now in the file
}

// Two handles on one file, as the server and the administrator's command have them:
// what one does takes effect in the other, by the other's clock, within 2 seconds.
func TestChangesOfAnotherProcess(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		var passed atomic.Int64
		server := service(t, location, func() time.Time {
			return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
		})
		command := service(t, location, time.Now)

		raw, key, err := command.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "laptop"}})
		if err != nil {
			t.Fatal(err)
		}
		want := keys.Principal{KeyID: key.ID, Group: keys.GroupChat, Name: "laptop", Policy: &keys.Policy{}}
		for range 2 {
			got, err := server.Authenticate(t.Context(), raw)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("a new key (-want +got): %v\n%s", err, diff)
			}
		}
		// The server has a full view now; a key made after it works at once as well.
		second, _, err := command.Create(t.Context(), keys.CreateParams{Group: keys.GroupMessages})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Authenticate(t.Context(), second); err != nil {
			t.Errorf("a second key: %v", err)
		}

		if _, err := command.Revoke(t.Context(), "laptop"); err != nil {
			t.Fatal(err)
		}
		passed.Add(int64(1500 * time.Millisecond))
		if _, err := server.Authenticate(t.Context(), raw); !errors.Is(err, keys.ErrWrongKey) {
			t.Errorf("1.5 seconds after its revocation: got %v", err)
		}
		if _, err := server.Authenticate(t.Context(), second); err != nil {
			t.Errorf("the other key: %v", err)
		}
	})
}

// The same by the real clock, with a caller that never lets go.
func TestRevocationTakesEffect(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		server, command := service(t, location, nil), service(t, location, nil)
		raw, key, err := command.Create(t.Context(), keys.CreateParams{Group: keys.GroupInternal})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Authenticate(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
		if _, err := command.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		revoked := time.Now()
		for deadline := time.After(time.Minute); ; {
			_, err := server.Authenticate(t.Context(), raw)
			if errors.Is(err, keys.ErrWrongKey) {
				t.Logf("refused %v after the revocation", time.Since(revoked).Round(time.Millisecond))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-ticker.C:
			case <-deadline:
				t.Fatal("still accepted a minute after its revocation")
			}
		}
	})
}

// A store that does not answer makes no key invalid.
func TestClosedStoreIsUnavailable(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := open(t, location)
		began := time.Now()
		var passed atomic.Int64
		service, err := keys.New(keys.Config{Store: s.Keys(), Clock: func() time.Time { return began.Add(time.Duration(passed.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		known, _, err := service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
		if err != nil {
			t.Fatal(err)
		}
		unseen, _, err := service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := service.Authenticate(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		await(t, service.Loaded)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{known, unseen} {
			passed.Add(int64(time.Second))
			if _, err := service.Authenticate(t.Context(), raw); err != nil {
				t.Errorf("a live key during the outage: %v", err)
			}
		}
		passed.Add(int64(time.Minute))
		if _, err := service.Authenticate(t.Context(), known); !errors.Is(err, keys.ErrUnavailable) || errors.Is(err, keys.ErrWrongKey) {
			t.Errorf("after the staleness: got %v, want ErrUnavailable", err)
		}
	})
}

// await waits until is reports that it is so.
func await(t testing.TB, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !is(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("a minute has passed")
		}
	}
}

// What a request with an unknown key costs: one question to the file.
func BenchmarkUnknownKey(b *testing.B) {
	for kind, fresh := range kinds {
		b.Run(kind, func(b *testing.B) {
			s, other := service(b, fresh(b), nil), service(b, newFile(b), nil)
			raw, _, err := other.Create(b.Context(), keys.CreateParams{Group: keys.GroupChat})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Authenticate(b.Context(), raw); !errors.Is(err, keys.ErrWrongKey) {
					b.Fatal(err)
				}
			}
		})
	}
}
