package ledger_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/ledger"
)

// Flush waits for a slow store, longer than Close does, and no longer than its context.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.hold = make(chan struct{})
		r := start(t, ledger.Config{Store: store})
		const requests = 40
		for i := range requests {
			record := open(t, r, strconv.Itoa(i))
			if i == requests/2 {
				<-time.After(time.Second) // what was before is being written
			}
			record.Settle(ledger.Result{Outcome: ledger.OK})
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := r.Flush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a store that takes nothing: %v", err)
		}
		began := time.Now()
		go func() {
			<-time.After(20 * time.Second)
			close(store.hold)
		}()
		if err := r.Flush(t.Context()); err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, rows, _ := store.counts(); rows != requests {
			t.Errorf("%d of %d requests are written", rows, requests)
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Errorf("nothing to write: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := errors.Join(r.Flush(t.Context()), (*ledger.Recorder)(nil).Flush(t.Context())); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
