// Package pages measures what the console's pages cost on a large ledger: lists by each filter, at their
// beginning and deep inside, the sums of the usage page, and pruning beside writes. It uses the store, not
// the programs.
package pages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/store"
)

const (
	// base is how many requests are made up at most; the rest are copies of them.
	base = 20_000
	// week is how many days package demo spreads the rows over.
	week = 7
	// apart is how far apart the copies of a row begin.
	apart = 600 * time.Millisecond
)

// Fill makes up a week at the location, which is empty, and copies each of its rows, until there are rows of them.
// What it leaves is what cores would have written: sums are made by the store, and what was spent is that of the rows.
// The copies of a row follow it, so that rows are numbered in about the order of their times, as cores number them.
func Fill(ctx context.Context, location string, rows int64, now time.Time) error {
	made := min(rows, base)
	return fill(ctx, location, made, max(rows/max(made, 1), 1), now)
}

// fill makes up so many requests, and returns each so many copies.
func fill(ctx context.Context, location string, made, copies int64, now time.Time) error {
	config := store.Config{Location: location, RelaxLedger: true}
	db, err := store.Open(ctx, config)
	if err != nil {
		return err
	}
	_, err = demo.Fill(ctx, db.Keys(), db.Ledger(), int(made), now.Add(-2*time.Hour))
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make up a week: %w", err)
	}
	if err := multiply(ctx, location, copies); err != nil {
		return fmt.Errorf("copy rows: %w", err)
	}
	if db, err = store.Open(ctx, config); err != nil {
		return err
	}
	for done := true; done && err == nil; { // without the pauses of a core
		done, err = db.Ledger().Roll(ctx, now)
	}
	return errors.Join(err, db.Close())
}
