package ledger_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/ledger"
)

// pruning is a store with so many entries left to prune.
type pruning struct {
	ledger.Store
	mu     sync.Mutex
	days   int
	left   int64
	before []time.Time
	err    error
}

func (p *pruning) Prune(_ context.Context, before time.Time, count int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.left, count)
	p.left -= n
	p.before = append(p.before, before)
	return n, p.err
}

// set changes the store, or looks at it.
func (p *pruning) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// What is too old goes in batches, every hour, by the setting of the moment; a failure is
// logged and tried again.
func TestRetain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &pruning{left: 2500}
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			ledger.Retain(ctx, store, func() (days int) {
				store.set(func() { days = store.days })
				return days
			}, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		synctest.Wait()
		if len(store.before) != 0 {
			t.Error("it prunes without being asked")
		}
		store.set(func() { store.days = 30 })
		<-time.After(time.Hour + time.Minute)
		synctest.Wait()
		if want := time.Now().AddDate(0, 0, -30); len(store.before) != 4 || store.left != 0 || want.Sub(store.before[0]) > time.Hour {
			t.Errorf("%d left after %v", store.left, store.before)
		}
		if !strings.Contains(log.String(), "entries=2500 days=30") {
			t.Errorf("the log says %s", &log)
		}
		store.set(func() { store.err = errDisk })
		<-time.After(time.Hour)
		synctest.Wait()
		store.set(func() { store.err, store.left = nil, 1 })
		<-time.After(time.Hour)
		synctest.Wait()
		if !strings.Contains(log.String(), "cannot be pruned") || store.left != 0 {
			t.Errorf("%d left; the log says %s", store.left, &log)
		}
		stop()
		<-done
	})
}
