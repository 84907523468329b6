package growth

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
)

// Limits has n keys with limits and budgets spend something, on one day, and measures a core
// that starts on them, and one whose clock is a month later.
func Limits(ctx context.Context, dir string, n int64) (Row, error) {
	row := Row{Name: "keys with limits and budgets in use", N: n}
	add := func(what, unit string, value float64) {
		row.Metrics = append(row.Metrics, Metric{What: what, Unit: unit, Value: value})
	}
	db, err := store.Open(ctx, store.Config{Location: filepath.Join(dir, store.FileName), RelaxLedger: true})
	if err != nil {
		return row, err
	}
	defer db.Close() //nolint:errcheck // its folder goes with it
	now := time.Now()
	process, err := db.Ledger().Begin(ctx, now)
	if err != nil {
		return row, err
	}
	for done := int64(0); done < n; {
		batch := make([]*ledger.Entry, min(n-done, 1000))
		for i := range batch {
			done++
			batch[i] = &ledger.Entry{Number: done, Request: ledger.Request{KeyID: keyID(done), Owner: "owner", Start: now}, Result: ledger.Result{Outcome: ledger.OK, Cost: 1000}}
		}
		if err := db.Ledger().Write(ctx, process, batch); err != nil {
			return row, err
		}
	}
	before := heap()
	clock := now
	memory := limit.NewMemory(func() time.Time { return clock })
	began := time.Now()
	err = memory.Restore(ctx, func(ctx context.Context, since time.Time, keyID, owner string) ([]limit.Spend, error) {
		spent, err := db.Ledger().Spent(ctx, since, keyID, owner)
		list := make([]limit.Spend, len(spent))
		for i, s := range spent {
			list[i] = limit.Spend(s)
		}
		return list, err
	})
	if err != nil {
		return row, err
	}
	add("what was spent is read at a start", "ms", milliseconds(time.Since(began)))
	limiter := limit.New(memory, limit.Rules{Keys: limit.Limits{RequestsPerMinute: 60, TokensPerMinute: 1000, Concurrent: 4, Budgets: []limit.Budget{{Amount: limit.Dollar, Period: limit.Month}}}})
	began = time.Now()
	longest := time.Duration(0)
	use := func() error {
		for i := range n {
			asked := time.Now()
			r := limiter.Prepare(limit.Who{KeyID: keyID(i + 1), Owner: "owner", Model: "m"})
			if _, err := r.Reserve(ctx, limit.Amount{Tokens: 10, Cost: 10}); err != nil {
				return err
			}
			r.Settle(limit.Amount{Tokens: 5, Cost: 5})
			longest = max(longest, time.Since(asked))
		}
		return nil
	}
	if err := use(); err != nil {
		return row, err
	}
	add("a request is admitted and settled", "ns", float64(time.Since(began).Nanoseconds())/float64(n))
	add("memory, each key", "bytes", float64(heap()-before)/float64(n))

	clock, longest = now.AddDate(0, 1, 1), 0
	if err := use(); err != nil {
		return row, err
	}
	add("the longest of them, a month later", "ms", milliseconds(longest))
	runtime.KeepAlive(limiter)
	return row, nil
}

func keyID(n int64) string { return fmt.Sprintf("key_%012d", n) }
