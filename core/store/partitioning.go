package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// firstBound and identityIndex name what a partitioning makes before it makes the partitioned table: the
// constraint that no row is beyond the bound of the first partition, and the index of its primary key.
const (
	firstBound    = "ledger_first_partition"
	identityIndex = "ledger_identity"
)

const (
	// partitionsSince is the version of the schema that a program must know to write to a
	// partitioned ledger.
	partitionsSince = 16
	// firstDays is how many days after today the first partition has. A core's clock may be ahead by
	// fewer while the ledger is being partitioned.
	firstDays = 7
	// furthest is how far ahead of today the first partition may reach for rows of clocks that were wrong.
	furthest = 31
	// nodeAlive is how old the last heartbeat of a node may be that counts as alive.
	nodeAlive = time.Minute
	// partitionName is what the server calls the program that partitions a ledger.
	partitionName = "genway ledger partition"
	// convertsWithin is how long another one that partitions the ledger is waited for.
	convertsWithin = 10 * time.Second
	// lockTries and lockPause bound the waiting for a moment in which no long query uses the ledger.
	lockTries = 120
	lockPause = 2 * time.Second
)

// ErrPartition is of a ledger that cannot be partitioned as things are.
var ErrPartition = errors.New("the ledger cannot be partitioned")

// Partitioning is how far the partitioning of a ledger is.
type Partitioning struct {
	// Partitions are the names of the ledger's, the earliest first; none before it is partitioned.
	Partitions []string
	// Rows is how many rows the ledger has by the server's statistics, Bytes what it takes on disk.
	Rows, Bytes int64
	// Bound is where the first partition ends.
	Bound time.Time
	// Steps are what is to be done, in order; none for a ledger that is partitioned.
	Steps []string
	// Obstacles are what must be put out of the way first.
	Obstacles []string

	// bounded is that rows are held to the bound, proved that all are, and indexed that the index of the
	// partitions' identity is there.
	bounded, proved, indexed bool
}

// conversion is a partitioning that runs.
type conversion struct {
	db  database
	now time.Time
	// say is called ahead of each step, progress while the index is made.
	say      func(step string)
	progress func(done, total int64)
}

// PartitionLedger has the ledger of a PostgreSQL database be partitioned by day, and makes the partitions
// of the next days. Cores read and write meanwhile: they wait for a lock twice, for some milliseconds
// each. No row is moved. A call that is broken off, at whatever moment, leaves a ledger that works, and the
// next one goes on. say is called ahead of each step, progress with the parts of the index that
// are made. ErrPartition says what is in the way.
func PartitionLedger(ctx context.Context, cfg Config, now time.Time, say func(step string), progress func(done, total int64)) error {
	return converting(ctx, cfg, func(config *pgx.ConnConfig, _ database) error {
		return alone(ctx, config, partitionName, maxConns, func(ctx context.Context, locks database) (*sql.Tx, error) {
			tx, err := awaitLock(ctx, locks, conversionLock, lockWait{within: convertsWithin})
			if sqlState(err) == lockNotAvailable {
				return nil, fmt.Errorf("%w: another program is at it", ErrPartition)
			}
			return tx, err
		}, func(ctx context.Context, db database) error {
			c := &conversion{db: db, now: now, say: say, progress: progress}
			return c.run(ctx)
		})
	})
}

// converting runs do on a PostgreSQL database whose schema is this program's, with its configuration and with
// connections whose statements are bounded.
func converting(ctx context.Context, cfg Config, do func(*pgx.ConnConfig, database) error) error {
	if !IsPostgres(cfg.Location) {
		return fmt.Errorf("%w: only one in PostgreSQL has partitions; SQLite's stays as it is", ErrPartition)
	}
	config, err := parsePostgres(cfg.Location)
	if err != nil {
		return err
	}
	bounded := config.Copy()
	bounded.RuntimeParams["application_name"] = partitionName
	bound(bounded)
	db := connections(bounded, maxConns)
	defer db.pool.Close() //nolint:errcheck // what it wrote is committed
	if _, err = migrate(ctx, db, MigrateCheck); err == nil {
		err = do(config, db)
	}
	switch {
	case err == nil, errors.Is(err, ErrPartition), errors.Is(err, ErrPending):
		return err
	}
	return fmt.Errorf("partition the ledger of %s: %w", address(config), postgresReason(config, err))
}

// run makes the steps that are not made yet.
func (c *conversion) run(ctx context.Context) error {
	found, err := c.inspect(ctx)
	if err != nil {
		return err
	}
	if len(found.Obstacles) > 0 {
		return fmt.Errorf("%w: %s", ErrPartition, strings.Join(found.Obstacles, "; "))
	}
	for _, step := range c.steps(found) {
		c.say(step.name)
		if err := step.make(ctx, found); err != nil {
			return err
		}
	}
	c.say("make the partitions of the next days")
	_, err = ledgerStore{db: c.db, byDay: &atomic.Bool{}}.Extend(ctx, c.now)
	return err
}

// partitionStep is one of a partitioning.
type partitionStep struct {
	name string
	done bool
	make func(context.Context, Partitioning) error
}

// steps are those that are not made yet.
func (c *conversion) steps(found Partitioning) []partitionStep {
	if len(found.Partitions) > 0 {
		return nil
	}
	return slices.DeleteFunc([]partitionStep{
		{"hold new rows to the first partition's bound, " + found.Bound.Format(time.DateOnly) + ": others wait for a moment", found.bounded, c.bound},
		{"prove that all rows are before the bound: the ledger is read once, others go on", found.proved, c.prove},
		{"make the index of the partitions' identity: others go on", found.indexed, c.index},
		{"make the ledger the first partition of a new one: others wait for a moment", false, c.swap},
	}, func(s partitionStep) bool { return s.done })
}

// takeBack removes the constraint.
func (c *conversion) takeBack(ctx context.Context) error {
	return c.bounded(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `ALTER TABLE ledger DROP CONSTRAINT IF EXISTS `+firstBound)
		return err
	})
}

// index makes the index beside writers. What a call that was broken off has left of it is removed.
func (c *conversion) index(ctx context.Context, _ Partitioning) error {
	if _, err := c.db.exec(ctx, `DROP INDEX CONCURRENTLY IF EXISTS `+identityIndex); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(watching) })
	_, err := c.db.exec(ctx, `CREATE UNIQUE INDEX CONCURRENTLY `+identityIndex+` ON ledger (`+identityByDay+`)`)
	stop()
	watch.Wait()
	return err
}

// watch reports how much of the index is made, until ctx ends.
func (c *conversion) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var done, total int64
		if err := c.db.row(ctx, `SELECT COALESCE(sum(blocks_done), 0)::bigint, COALESCE(sum(blocks_total), 0)::bigint FROM pg_stat_progress_create_index WHERE relid = 'ledger'::regclass`).Scan(&done, &total); err == nil && total > 0 {
			c.progress(done, total)
		}
	}
}

// bounded runs do in a transaction that waits at most a second for each lock, since later statements of
// others queue behind a waiting one. It retries after a pause in which they proceed.
func (c *conversion) bounded(ctx context.Context, do func(transaction) error) (err error) {
	for range lockTries {
		err = c.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
			if _, err := tx.exec(ctx, partitionLockWait); err != nil {
				return err
			}
			return do(tx)
		})
		if err == nil || sqlState(err) != lockNotAvailable && !c.db.retry(err) {
			return err
		}
		c.say("wait: another transaction uses the ledger")
		pause := time.NewTimer(lockPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w: a transaction of another program uses the ledger for minutes, such as a dump; run it again when that has ended: %w", ErrPartition, err)
}

const lockNotAvailable = "55P03"
