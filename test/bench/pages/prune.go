package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// Pruned is what pruning took beside writes.
type Pruned struct {
	Rows, Written      int64
	Batch, Write, Most time.Duration // the p95 of each, and the longest write
}

// Prune removes the oldest rows in batches, as cores do, beside a core that writes rate rows a second.
func Prune(ctx context.Context, location string, rows int64, rate int, now time.Time) (p Pruned, err error) {
	db, err := store.Open(ctx, store.Config{Location: location})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	process, err := db.Ledger().Begin(ctx, now)
	if err != nil {
		return p, err
	}
	const each = 100 * time.Millisecond
	pruning, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var writes []time.Duration
	var failed error
	group.Go(func() {
		tick := time.NewTicker(each)
		defer tick.Stop()
		for pruning.Err() == nil && failed == nil {
			entries := make([]*ledger.Entry, rate*int(each)/int(time.Second))
			for i := range entries {
				p.Written++
				entries[i] = &ledger.Entry{
					Number:  p.Written,
					Request: ledger.Request{ID: fmt.Sprint("req_new_", p.Written), KeyID: "key_new", Protocol: "messages", Method: "GenerateText", Model: "m", Start: time.Now()},
					Result:  ledger.Result{Outcome: ledger.OK, Upstream: "u", Attempts: 1, Model: "m", Usage: ledger.Usage{Input: 1000, Output: 10}},
				}
			}
			began := time.Now()
			failed = db.Ledger().Write(ctx, process, entries)
			writes = append(writes, time.Since(began))
			select {
			case <-tick.C:
			case <-pruning.Done():
			}
		}
	})
	timing := &timingStore{Store: db.Ledger()}
	_, err = ledger.PruneAll(pruning, timing, now.AddDate(0, 0, -1), func(pruned int64) {
		if p.Rows = pruned; pruned >= rows {
			stop()
		}
	})
	if pruning.Err() != nil && ctx.Err() == nil {
		err = nil // there was more to prune
	}
	stop()
	group.Wait()
	batches := timing.took
	slices.Sort(batches)
	slices.Sort(writes)
	p.Batch, p.Write, p.Most = batches[len(batches)*95/100], writes[len(writes)*95/100], writes[len(writes)-1]
	return p, errors.Join(err, failed)
}

// timingStore times its batches.
type timingStore struct {
	ledger.Store
	took []time.Duration
}

// Prune implements ledger.Store.
func (s *timingStore) Prune(ctx context.Context, before time.Time, count int64) (int64, error) {
	began := time.Now()
	n, err := s.Store.Prune(ctx, before, count)
	s.took = append(s.took, time.Since(began))
	return n, err
}
