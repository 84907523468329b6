package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/jackc/pgx/v5"
)

// The ledger on PostgreSQL is partitioned by the day, of UTC, in which requests began
// (docs/decisions/0063-the-ledger-by-day.md). Each day has a partition, made days ahead. The default partition
// takes rows of all other times: of clocks that are wrong, and of days that were pruned. The rows that were copied from
// SQLite have one before all days.

// partition is one of the ledger's: it has the rows that began at from or later, before to.
type partition struct {
	name     string
	from, to int64 // in microseconds since 1970; the least number is no bound
	rest     bool  // it is the default partition, which has no bounds
}

// day is the day since 1970 that is the partition's; false where it has another number of days.
func (p partition) day() (int64, bool) {
	return p.from / microsOfDay, !p.rest && p.from != math.MinInt64 && p.to-p.from == microsOfDay
}

// quoted is the partition's name for a statement.
func (p partition) quoted() string { return pgx.Identifier{p.name}.Sanitize() }

const (
	// defaultPartition is the name of the one for the rest.
	defaultPartition = "ledger_default"
	// partitionsAhead is how many days after today have a partition.
	partitionsAhead = 3
	// partitionLock is the advisory lock for making and dropping partitions.
	partitionLock = migrationLock + 1
	// partitionLockWait bounds how long others wait behind a change of the partitions that waits itself.
	partitionLockWait = `SET LOCAL lock_timeout = '1s'`
	// lockNotAvailable is PostgreSQL's state of a lock that was not free in time.
	lockNotAvailable = "55P03"
)

func dayPartition(day int64) partition {
	at := time.UnixMicro(day * microsOfDay).UTC()
	return partition{name: "ledger_" + at.Format("20060102"), from: day * microsOfDay, to: (day + 1) * microsOfDay}
}

// rangeBound is how PostgreSQL writes the bounds of a partition of whole numbers.
var rangeBound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^FOR VALUES FROM \((MINVALUE|'?(-?\d+)'?)\) TO \('?(-?\d+)'?\)$`)
})

// partitionsOf lists the ledger's partitions, the earliest first and the default one last.
func partitionsOf(ctx context.Context, tx transaction) ([]partition, error) {
	rows, err := tx.query(ctx, `SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'ledger'::regclass AND NOT i.inhdetachpending`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []partition
	for rows.Next() {
		var name, bound string
		if err := rows.Scan(&name, &bound); err != nil {
			return nil, err
		}
		p, err := parsePartition(name, bound)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b partition) int {
		switch {
		case a.rest || !b.rest && a.from > b.from:
			return 1
		case b.rest || a.from < b.from:
			return -1
		}
		return 0
	})
	return all, rows.Err()
}

func parsePartition(name, bound string) (partition, error) {
	if bound == "DEFAULT" {
		return partition{name: name, rest: true}, nil
	}
	p := partition{name: name, from: math.MinInt64}
	texts := rangeBound().FindStringSubmatch(bound)
	if texts == nil {
		return p, fmt.Errorf("partition %s has bounds that are none of this program's: %s", name, bound)
	}
	var err error
	if texts[2] != "" {
		if p.from, err = strconv.ParseInt(texts[2], 10, 64); err != nil {
			return p, err
		}
	}
	p.to, err = strconv.ParseInt(texts[3], 10, 64)
	return p, err
}

// Extend makes the partitions of today and of the next days that are missing, each in a transaction. Of
// several that are called at once, one does it.
func (s ledgerStore) Extend(ctx context.Context, now time.Time) (made int, err error) {
	if s.db.partitions == "" {
		return 0, nil
	}
	today := now.UnixMicro() / microsOfDay
	for day := today; day <= today+partitionsAhead && err == nil; day++ {
		var done bool
		err = s.db.again(ctx, func() error {
			return s.db.once(ctx, sql.LevelDefault, func(tx transaction) (err error) {
				done, err = makePartition(ctx, tx, dayPartition(day))
				return err
			})
		})
		if done {
			made++
		}
	}
	if err != nil {
		return made, fmt.Errorf("make partitions of the ledger: %w", err)
	}
	return made, nil
}

// Repeated reads the index of each partition, in its order. Where there is one table, its index has each
// entry once.
func (s ledgerStore) Repeated(ctx context.Context, most int) ([]ledger.Key, error) {
	if s.db.partitions == "" {
		return nil, nil
	}
	rows, err := s.db.query(ctx, `SELECT process, number FROM ledger GROUP BY process, number HAVING count(*) > 1 ORDER BY process, number LIMIT ?`, most)
	if err != nil {
		return nil, fmt.Errorf("look for entries that are there twice: %w", err)
	}
	defer rows.Close()
	var all []ledger.Key
	for rows.Next() {
		var key ledger.Key
		if err := rows.Scan(&key.Process, &key.Number); err != nil {
			return nil, fmt.Errorf("look for entries that are there twice: %w", err)
		}
		all = append(all, key)
	}
	return all, rows.Err()
}

// makePartition makes one unless its time is another one's, and moves the rows to it that the default
// partition has of its time: nothing changes of them, so that no trigger need see it. Readers and
// writers of other partitions go on.
func makePartition(ctx context.Context, tx transaction, p partition) (made bool, err error) {
	var alone bool
	if err := tx.row(ctx, `SELECT pg_try_advisory_xact_lock(?)`, int64(partitionLock)).Scan(&alone); err != nil || !alone {
		return false, err
	}
	all, err := partitionsOf(ctx, tx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(all, func(other partition) bool { return !other.rest && other.from < p.to && p.from < other.to }) {
		return false, nil
	}
	for _, statement := range []string{
		partitionLockWait,
		`CREATE TABLE ` + p.quoted() + ` (LIKE ledger INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)`,
		// As attaching it does.
		`LOCK TABLE ` + defaultPartition + ` IN ACCESS EXCLUSIVE MODE`,
		fmt.Sprintf(`WITH moved AS (DELETE FROM %s WHERE start_time >= %d AND start_time < %d RETURNING *) INSERT INTO %s TABLE moved`, defaultPartition, p.from, p.to, p.quoted()),
		fmt.Sprintf(`ALTER TABLE ledger ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)`, p.quoted(), p.from, p.to),
	} {
		if _, err := tx.exec(ctx, statement); err != nil {
			return false, fmt.Errorf("partition %s: %w", p.name, err)
		}
	}
	return true, nil
}
