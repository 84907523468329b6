package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/ledger"
)

// picky is a store that refuses the entries of some models, each batch as a whole.
type picky struct {
	*memory
	refuses atomic.Value // a model
	tries   atomic.Int64 // of entries it refuses
}

func newPicky() *picky {
	p := &picky{memory: newMemory()}
	p.refuses.Store("bad")
	return p
}

func (p *picky) Write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	for _, e := range entries {
		if e.Request.Model == p.refuses.Load() {
			p.tries.Add(1)
			return fmt.Errorf("%w: no %s here", ledger.ErrRefused, e.Request.Model)
		}
	}
	return p.memory.Write(ctx, process, entries)
}

func request(t *testing.T, r *ledger.Recorder, id, model string) *ledger.Record {
	t.Helper()
	record, err := r.Open(t.Context(), ledger.Request{ID: id, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// An entry that the store refuses does not block others: those beside it and after it are
// written. It is logged in full, counted, tried again, and written once the store takes it.
func TestRefusedEntriesAreSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newPicky()
		var log bytes.Buffer
		counted := 0
		r := start(t, ledger.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), OnAside: func() { counted++ }})
		for n := range 100 {
			model := "good"
			if n%40 == 7 {
				model = "bad"
			}
			record := request(t, r, strconv.Itoa(n), model)
			record.Keep([]ledger.Item{{Sealed: []byte{222, 173}}})
			record.Settle(ledger.Result{Outcome: ledger.OK, Reason: "all of it"})
		}
		<-time.After(21 * time.Millisecond)
		synctest.Wait()
		request(t, r, "after", "good").Settle(ledger.Result{Outcome: ledger.OK})
		<-time.After(21 * time.Millisecond)
		synctest.Wait()
		if got := store.outcomes(); len(got) != 98 || got["after"] != ledger.OK || counted != 3 {
			t.Errorf("%d entries are written, %d counted as set aside", len(got), counted)
		}
		for _, id := range []string{"7", "47", "87"} {
			if !strings.Contains(log.String(), "request_id="+id) {
				t.Errorf("nothing of %s in\n%s", id, log.String())
			}
		}
		if !strings.Contains(log.String(), "all of it") {
			t.Errorf("the entries are not in the log:\n%s", log.String())
		}
		if strings.Contains(log.String(), "222") {
			t.Errorf("an item is in the log:\n%s", log.String())
		}
		before := store.tries.Load()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if again := store.tries.Load() - before; again != 6 {
			t.Errorf("in 5 s they were tried %d times, want 3 by 2", again)
		}
		store.refuses.Store("")
		<-time.After(2 * time.Second)
		synctest.Wait()
		if got := store.outcomes(); len(got) != 101 || counted != 3 {
			t.Errorf("%d entries are written once the store takes them", len(got))
		}
		shut(t, r)
	})
}

// What the store refuses to the end is lost, and the end says so. It does not take as long
// as a store that fails.
func TestRefusedToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, ledger.Config{Store: newPicky()})
		request(t, r, "a", "bad").Settle(ledger.Result{Outcome: ledger.OK})
		request(t, r, "b", "good").Settle(ledger.Result{Outcome: ledger.OK})
		before := time.Now()
		err := r.Close()
		if err == nil || !strings.Contains(err.Error(), "1 entries that the store refuses are lost") || time.Since(before) > time.Second {
			t.Errorf("after %v: %v", time.Since(before), err)
		}
	})
}

// A store that refuses all is one that fails: entries wait, and what cannot be recorded is
// refused at last.
func TestRefusedAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newPicky()
		r := start(t, ledger.Config{Store: store, Queue: 100})
		admitted := 0
		for ; admitted < 3000; admitted++ {
			record, err := r.Open(t.Context(), ledger.Request{Model: "bad"})
			if err != nil {
				break
			}
			record.Settle(ledger.Result{Outcome: ledger.OK})
			synctest.Wait()
		}
		if admitted < 1000 || admitted > 1500 {
			t.Errorf("%d requests were admitted", admitted)
		}
		store.refuses.Store("")
		shut(t, r)
		if got := len(store.rows); got != admitted {
			t.Errorf("%d entries are written of %d", got, admitted)
		}
	})
}
