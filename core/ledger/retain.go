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

const (
	// rollEvery is how often RollUp looks for what to do.
	rollEvery = time.Minute
	// rollDelay is how long an hour is over before it is rolled up: most of its requests have
	// ended by then. What ends later has it rolled up once more.
	rollDelay = 10 * time.Minute
	// rollRest is the least pause after a step. Each is followed by one as long as it took, so
	// that it takes half of one core at most.
	rollRest = time.Millisecond
)

// RollUp keeps the sums that reports are made of, now and every minute until ctx ends, if this
// process is the one of those alive that does so. A nil Recorder does nothing.
func (r *Recorder) RollUp(ctx context.Context) {
	if r == nil {
		return
	}
	failing := false
	for {
		steps, err := r.roll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			r.config.Logger.Warn("the ledger's sums by hour cannot be brought up to date; reports read rows instead", "error", err)
		case err == nil && failing:
			r.config.Logger.Info("the ledger's sums by hour are brought up to date again")
		case steps > manySteps:
			r.config.Logger.Info("the ledger's sums by hour are up to date", "steps", steps)
		}
		failing = err != nil
		if !wait(ctx, rollEvery) {
			return
		}
	}
}

// manySteps is more than an hour or a day that has passed takes: a ledger of before the sums
// has them now.
const manySteps = 100

// roll does what there is to do.
func (r *Recorder) roll(ctx context.Context) (steps int, err error) {
	leads, err := r.config.Store.Leads(ctx, r.process, r.config.Clock().Add(-deadAfter))
	if err != nil || !leads {
		return 0, err
	}
	return RollAll(ctx, r.config.Store, r.config.Clock().Add(-rollDelay))
}

// RollAll rolls up all hours and days that ended before, with pauses. It reports how many
// steps that took, also with an error.
func RollAll(ctx context.Context, store Store, before time.Time) (steps int, err error) {
	for {
		began := time.Now()
		done, err := store.Roll(ctx, before)
		if err != nil || !done {
			return steps, err
		}
		steps++
		if !wait(ctx, max(time.Since(began), rollRest)) {
			return steps, ctx.Err()
		}
	}
}
