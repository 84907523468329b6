package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

var errFull = errors.New("database or disk is full")

// full is a ledger that takes nothing.
type full struct{ ledger.Store }

func (full) Write(context.Context, int64, []*ledger.Entry) error { return errFull }

// A week that the store does not take fails for the store's reason, not because entries wait.
func TestStoreThatTakesNothing(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := Week{Seed: 1, Requests: 1000, Days: 1, End: time.Date(2026, 3, 20, 11, 30, 0, 0, time.UTC)}
	callers, _, err := makeKeys(t.Context(), db.Keys(), w)
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := ledger.Start(t.Context(), ledger.Config{Store: full{db.Ledger()}, Queue: 1, Batch: 1, MaxWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close() // all is lost, which it says
	first, err := recorder.Open(t.Context(), ledger.Request{Start: w.End})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Settle(ledger.Result{Outcome: ledger.Failed})
	for failing := error(nil); failing == nil; runtime.Gosched() {
		_, failing = recorder.Failing()
	}
	m := &maker{Week: w, rand: rand.New(rand.NewPCG(w.Seed, 2)), callers: callers, events: eventsOf(w), sessions: map[string]*session{}}
	if _, err := m.record(t.Context(), recorder, nil); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}
