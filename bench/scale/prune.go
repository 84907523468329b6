package scale

import (
	"context"
	"errors"
	"time"

	"github.com/genway/genway/bench/growth"
	"github.com/genway/genway/bench/process"
	"github.com/genway/genway/core/ledger"
	"github.com/jackc/pgx/v5"
)

// Prune writes so many rows of one day, removes them as cores do, and drops a table with the same
// rows and indexes beside it, which is what removing a partition costs.
func Prune(ctx context.Context, db *Database, rows int) (growth.Row, error) {
	row := growth.Row{Name: "rows of a day, on one PostgreSQL", N: int64(rows)}
	w, err := db.open(ctx)
	if err != nil {
		return row, err
	}
	defer w.close()
	now := time.Now()
	w.at, w.step = now.AddDate(0, 0, -2).Truncate(24*time.Hour), 23*time.Hour/time.Duration(rows)
	for range (rows + batch - 1) / batch {
		if err := w.batch(ctx, false); err != nil {
			return row, err
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
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return row, err
	}
	exec := func(statement string) func() error {
		return func() error {
			_, err := conn.Exec(ctx, statement)
			return err
		}
	}
	err = errors.Join(
		exec("CREATE TABLE partition (LIKE ledger INCLUDING ALL)")(),
		exec("INSERT INTO partition SELECT * FROM ledger")(),
		exec("CHECKPOINT")(),
		add("pruning, a thousand at a time", func() error {
			for {
				if n, err := w.store.Ledger().Prune(ctx, now, ledger.PruneCount); err != nil || n == 0 {
					return err
				}
			}
		}),
		exec("CHECKPOINT")(),
		add("dropping the table", exec("DROP TABLE partition")),
		conn.Close(ctx),
	)
	return row, err
}
