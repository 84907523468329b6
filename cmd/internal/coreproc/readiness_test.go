package coreproc

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
	"modernc.org/sqlite"
)

// A core whose store is away is ready as long as it serves the keys that it knows; one
// whose ledger cannot be written as long as entries may wait. Both are ready again as soon as the
// store is back.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var away, unwritten, damage error
		var since time.Time
		reported := [][]string{}
		r := &readiness{
			ask: func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				return away
			},
			ledger: func() (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				return since, unwritten
			},
			met: func() error {
				mu.Lock()
				defer mu.Unlock()
				return damage
			},
			report: func(failing []string) {
				mu.Lock()
				defer mu.Unlock()
				reported = append(reported, failing)
			},
			log: slog.New(slog.DiscardHandler),
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.watch(ctx); close(ended) }()
		expect := func(what string, want ...[]string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.EqualFunc(reported, want, slices.Equal) {
				t.Errorf("%s: reported %q, want %q", what, reported, want)
			}
			reported = nil
		}
		now := func(change func()) {
			mu.Lock()
			defer mu.Unlock()
			change()
		}
		pass := func(d time.Duration) { <-time.After(d) } // of the bubble's time
		pass(10500 * time.Millisecond)
		expect("all is well")
		now(func() { away = errors.New("connection refused") })
		pass(59 * time.Second)
		expect("within the grace")
		pass(2 * time.Second)
		expect("beyond it", []string{"store"})
		now(func() { unwritten, since = away, time.Now().Add(-time.Minute) })
		pass(time.Second)
		expect("the ledger too", []string{"store", "ledger"})
		now(func() { away = nil })
		pass(time.Second)
		expect("keys alone", []string{"ledger"})
		now(func() { unwritten = nil })
		pass(time.Second)
		expect("back", nil)
		now(func() { unwritten, since = errors.New("connection refused"), time.Now() })
		pass(30 * time.Second)
		expect("entries wait")
		now(func() { unwritten, since = new(sqlite.Error), time.Now() }) // whose code says nothing
		pass(time.Second)
		expect("another failure")
		now(func() { unwritten, damage = nil, store.ErrDamaged })
		pass(time.Second)
		expect("damage that some statement met", []string{"store"})
		pass(time.Hour)
		expect("it does not mend by itself")
		end()
		<-ended
	})
}

// The log of a core says that the store of the keys does not answer.
func TestKeyStoreIsLogged(t *testing.T) {
	lines := make(logged, 1000)
	core, err := CoreFlags{Data: Data{Dir: t.TempDir()}, TextModel: "sandbox-text", ImageModel: "sandbox-image"}.Open(t.Context(), slog.New(slog.NewTextHandler(lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close() // it says that the store is closed
	if err := core.store.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := keys.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Keys.Authenticate(t.Context(), raw); err == nil {
		t.Error("an unknown key is good while the store does not answer")
	}
	for {
		select {
		case line := <-lines:
			if strings.Contains(line, "key store does not answer") {
				return
			}
		default:
			t.Fatal("the log does not say so")
		}
	}
}

// logged are the lines of a log.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
