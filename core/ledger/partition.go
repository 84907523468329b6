package ledger

import (
	"context"
	"time"
)

// A Partitioner is a Store that keeps its entries in a partition for each day.
type Partitioner interface {
	// Extend makes the partitions of the day that now is in, of UTC, and of the next three that are
	// missing. It reports how many it made, also with an error. Without its
	// partition an entry is written elsewhere, never refused.
	Extend(ctx context.Context, now time.Time) (made int, err error)
	// Repeated returns entries of which there are several, at most so many. There are none unless a
	// program has written one entry with two times.
	Repeated(ctx context.Context, most int) ([]Key, error)
}
