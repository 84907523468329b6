package ledger

import (
	"context"
	"log/slog"
	"time"
)

const (
	// pruneEvery is how often Retain looks for what is old.
	pruneEvery = time.Hour
	// PruneCount is how many entries are pruned at once: milliseconds of writing.
	PruneCount = 1000
	// pruneRest is the pause between two of these, for others to write.
	pruneRest = 50 * time.Millisecond
)

// Retain prunes the entries of days that ended more than so many days ago, now and every
// hour until ctx ends. days is asked each time; what is not above 0 keeps everything. It has a store
// that is a Partitioner make its partitions as well.
func Retain(ctx context.Context, store Store, days func() int, logger *slog.Logger) {
	for {
		if p, ok := store.(Partitioner); ok {
			made, err := p.Extend(ctx, time.Now())
			switch {
			case err != nil && ctx.Err() == nil:
				logger.Warn("the ledger's partitions of the next days cannot be made; without one, rows are kept in the default partition", "error", err)
			case made > 0:
				logger.Info("the ledger has partitions for the next days", "made", made)
			}
		}
		if n := days(); n > 0 {
			pruned, err := PruneAll(ctx, store, time.Now().UTC().AddDate(0, 0, -n), nil)
			switch {
			case err != nil && ctx.Err() == nil:
				logger.Warn("the ledger cannot be pruned", "error", err)
			case pruned > 0:
				logger.Info("old entries of the ledger were pruned", "entries", pruned, "days", n)
			}
		}
		if !wait(ctx, pruneEvery) {
			return
		}
	}
}

// PruneAll prunes until nothing is left to prune, with pauses. It reports how many
// entries, also with an error, and calls progress, unless nil, after each step. An interrupted
// pruning goes on with the next call.
func PruneAll(ctx context.Context, store Store, before time.Time, progress func(pruned int64)) (pruned int64, err error) {
	for {
		n, err := store.Prune(ctx, before, PruneCount)
		pruned += n
		if err != nil || n == 0 {
			return pruned, err
		}
		if progress != nil {
			progress(pruned)
		}
		if !wait(ctx, pruneRest) {
			return pruned, ctx.Err()
		}
	}
}
