package scale

import (
	"context"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/test/bench/growth"
	"github.com/genway/genway/test/bench/process"
)

// Prune writes so many rows of one day and removes them as cores do, once from the default partition and once from
// the day's own.
func Prune(ctx context.Context, db *Database, rows int) (growth.Row, error) {
	row := growth.Row{Name: "rows of a day, on one PostgreSQL", N: int64(rows)}
	w, err := db.open(ctx)
	if err != nil {
		return row, err
	}
	defer w.close()
	now := time.Now()
	day := now.UTC().AddDate(0, 0, -2).Truncate(24 * time.Hour)
	fill := func() error {
		w.at, w.step = day, 23*time.Hour/time.Duration(max(rows, batch))
		for range (rows + batch - 1) / batch {
			if err := w.batch(ctx, false); err != nil {
				return err
			}
		}
		return db.checkpoint(ctx)
	}
	prune := func() error {
		for {
			if n, err := w.store.Ledger().Prune(ctx, now, ledger.PruneCount); err != nil || n == 0 {
				return err
			}
		}
	}
	add := func(what string, do func() error) error {
		wal, err := db.number(ctx, walPosition)
		if err != nil {
			return err
		}
		cpu, began := process.TreeCPU(db.postmaster), time.Now()
		if err := do(); err != nil {
			return err
		}
		took, cpu := time.Since(began), max(0, process.TreeCPU(db.postmaster)-cpu) // an ended process rounds its time
		after, err := db.number(ctx, walPosition)
		row.Metrics = append(row.Metrics,
			growth.Metric{What: what, Unit: "ms", Value: float64(took.Microseconds()) / 1000},
			growth.Metric{What: "the server's CPU time for it", Unit: "ms", Value: float64(cpu.Microseconds()) / 1000},
			growth.Metric{What: "its write-ahead log", Unit: "MB", Value: float64(after-wal) / 1e6})
		return err
	}
	if err := fill(); err != nil {
		return row, err
	}
	if err := add("pruning, a thousand at a time", prune); err != nil {
		return row, err
	}
	if _, err := w.store.Ledger().(ledger.Partitioner).Extend(ctx, day); err != nil { //nolint:forcetypeassert // the ledger of PostgreSQL is one
		return row, err
	}
	if err := fill(); err != nil {
		return row, err
	}
	if _, err := ledger.RollAll(ctx, w.store.Ledger(), now.Add(-24*time.Hour)); err != nil {
		return row, err
	}
	return row, add("pruning, the day's partition", prune)
}
