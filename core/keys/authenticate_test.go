package keys_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

// unknown is a well-formed key that no store has.
func unknown(t testing.TB) string {
	t.Helper()
	raw, err := keys.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAuthenticate(t *testing.T) {
	s, _, _ := fixture(t)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "ci"}})
	want := keys.Principal{KeyID: key.ID, Group: keys.GroupChat, Name: "ci", Policy: &keys.Policy{}}
	for range 2 {
		got, err := s.Authenticate(t.Context(), raw)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("(-want +got): %v\n%s", err, diff)
		}
	}
}

// Whatever is wrong with a key, the answer is the same value.
func TestWrongKeysAreAlike(t *testing.T) {
	s, _, c := fixture(t)
	soon := c.at().Add(time.Minute)
	expired, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{ExpireTime: &soon}})
	revoked, key := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	for _, raw := range []string{expired, revoked} {
		if _, err := s.Authenticate(t.Context(), raw); err != nil {
			t.Fatalf("before: %v", err)
		}
	}
	if _, err := s.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	c.set(soon)
	for name, raw := range map[string]string{
		"unknown": unknown(t), "expired": expired, "revoked": revoked,
		"mistyped": expired[:39] + "!", "empty": "", "another's": "sk-proj-0123456789",
	} {
		//nolint:errorlint // the very value, not one that wraps it
		if got, err := s.Authenticate(t.Context(), raw); err != keys.ErrWrongKey || got != (keys.Principal{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// A key ends at the moment it says, whatever the store is asked in between.
func TestExpiry(t *testing.T) {
	s, _, c := fixture(t)
	end := c.at().Truncate(time.Microsecond).Add(100 * time.Millisecond)
	raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{ExpireTime: &end}})
	c.set(end.Add(-time.Nanosecond))
	if _, err := s.Authenticate(t.Context(), raw); err != nil {
		t.Errorf("before its end: %v", err)
	}
	c.set(end)
	if _, err := s.Authenticate(t.Context(), raw); !errors.Is(err, keys.ErrWrongKey) {
		t.Errorf("at its end: %v", err)
	}
}

// A typo never reaches the store, and a known key does so once every Freshness.
func TestStoreIsSpared(t *testing.T) {
	s, m, c := fixture(t)
	raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	asked := func(want int, when string) {
		t.Helper()
		if got := m.asked(); got != want {
			t.Errorf("%s: asked %d times, want %d", when, got, want)
		}
	}
	for range 100 {
		s.Authenticate(t.Context(), raw[:39]+"!")
	}
	asked(0, "typos")
	for range 100 {
		s.Authenticate(t.Context(), raw)
	}
	asked(1, "a known key")
	c.advance(499 * time.Millisecond)
	s.Authenticate(t.Context(), raw)
	asked(1, "a fresh view")
	c.advance(time.Millisecond)
	s.Authenticate(t.Context(), raw)
	s.Authenticate(t.Context(), raw)
	s.Idle()
	s.Authenticate(t.Context(), raw)
	asked(2, "an older view")
}

// Another process is another service on the same store.
func TestOtherProcess(t *testing.T) {
	s, m, c := fixture(t)
	other, err := keys.New(keys.Config{Store: m})
	if err != nil {
		t.Fatal(err)
	}
	old, key := create(t, other, keys.CreateParams{Group: keys.GroupChat})
	if _, err := s.Authenticate(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	added, _ := create(t, other, keys.CreateParams{Group: keys.GroupChat})
	if _, err := s.Authenticate(t.Context(), added); err != nil {
		t.Errorf("a new key does not work at once: %v", err)
	}
	if _, err := other.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	c.advance(1500 * time.Millisecond)
	if _, err := s.Authenticate(t.Context(), old); !errors.Is(err, keys.ErrWrongKey) {
		t.Errorf("a revoked key after 1.5 s: %v", err)
	}
	if _, err := s.Authenticate(t.Context(), added); err != nil {
		t.Errorf("the other key: %v", err)
	}
}

// A revocation by the service itself counts at once, with or without the store.
func TestOwnRevocation(t *testing.T) {
	s, m, c := fixture(t)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	other, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	if _, err := s.Authenticate(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	s.Idle()
	if _, err := s.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	m.Close()
	c.advance(time.Second)
	if _, err := s.Authenticate(t.Context(), raw); err == nil {
		t.Error("it is still accepted")
	}
	if _, err := s.Authenticate(t.Context(), other); err != nil {
		t.Errorf("the other key: %v", err)
	}
}

// Of any number of waiting calls, one queries the store; and no call uses a query that began
// before it came.
func TestMissesShareChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m, _ := fixture(t)
		gate := make(chan struct{})
		m.during(func(context.Context) error { <-gate; return nil })
		var wait sync.WaitGroup
		authenticate := func(raw string, want error) {
			wait.Go(func() {
				if _, err := s.Authenticate(t.Context(), raw); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
		}
		authenticate(unknown(t), keys.ErrWrongKey)
		synctest.Wait() // it asks and is held up
		raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
		for range 100 {
			authenticate(unknown(t), keys.ErrWrongKey)
			authenticate(raw, nil)
		}
		synctest.Wait() // they wait for the next question
		close(gate)
		wait.Wait()
		if asked := m.asked(); asked != 2 {
			t.Errorf("asked %d times, want 2", asked)
		}
	})
}

// Keys come, go and are shown by many at once: for the race detector, and no one's
// good key is ever wrong.
func TestConcurrently(t *testing.T) {
	m := &memory{}
	s, err := keys.New(keys.Config{Store: m, Freshness: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	lasting, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				raw, key, err := s.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Authenticate(t.Context(), raw); err != nil {
					t.Errorf("a new key: %v", err)
				}
				if _, err := s.Revoke(t.Context(), key.ID); err != nil {
					t.Errorf("revoke: %v", err)
				}
				if _, err := s.Authenticate(t.Context(), raw); !errors.Is(err, keys.ErrWrongKey) {
					t.Errorf("a revoked key: %v", err)
				}
				if _, err := s.Authenticate(t.Context(), lasting); err != nil {
					t.Errorf("the lasting key: %v", err)
				}
			}
		})
	}
	wait.Wait()
}

func TestAuthenticateAllocatesNothing(t *testing.T) {
	s, _, _ := fixture(t)
	raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	for name, shown := range map[string]string{"a known key": raw, "a typo": raw[:39] + "!"} {
		if n := testing.AllocsPerRun(100, func() { s.Authenticate(t.Context(), shown) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// The clock is the real one: it is part of the price.
func BenchmarkAuthenticate(b *testing.B) {
	s, err := keys.New(keys.Config{Store: &memory{}})
	if err != nil {
		b.Fatal(err)
	}
	var raw string
	for i := range 1000 {
		raw, _ = create(b, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: fmt.Sprint("bench ", i)}})
	}
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Authenticate(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		ctx := b.Context()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Authenticate(ctx, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("mistyped", func(b *testing.B) {
		mistyped := raw[:39] + "!"
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Authenticate(b.Context(), mistyped); !errors.Is(err, keys.ErrWrongKey) {
				b.Fatal(err)
			}
		}
	})
}
