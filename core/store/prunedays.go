package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// sumDay adds the roll-ups of a day to the sums of what was pruned.
func sumDay() string {
	columns, add := slices.Clone(prunedBy), []string(nil)
	for _, s := range sums {
		columns = append(columns, s.column)
		add = append(add, s.column+" = "+saturated("ledger_days."+s.column, "excluded."+s.column))
	}
	return `INSERT INTO ledger_days (` + strings.Join(columns, ", ") + `) SELECT period, ` + strings.Join(columns[1:], ", ") + ` FROM ledger_rollups WHERE level = 1 AND period = ?
		ON CONFLICT (` + strings.Join(prunedBy, ", ") + `) DO UPDATE SET ` + strings.Join(add, ", ")
}

const insufficientPrivilege = "42501"

// errDayChanged is of a partition that may not be dropped: rows have come or changed since it was looked at.
var errDayChanged = errors.New("rows of the day have changed meanwhile")

// dropDays drops the partitions of days that ended before a time, in microseconds since 1970, each in a
// transaction: those without rows, and those of a day whose roll-ups are those of its rows, all
// of which are closed. The roll-ups are then the sums that stay, and no row is read. Other days are left to
// pruneRows. Of several programs that prune, one does it.
func (s ledgerStore) dropDays(ctx context.Context, before int64) (pruned int64, err error) {
	if s.db.partitions == "" {
		return 0, nil
	}
	var old []partition
	err = s.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		all, err := partitionsOf(ctx, tx)
		for _, p := range all {
			if !p.rest && p.to <= before {
				old = append(old, p)
			}
		}
		return err
	})
	for _, p := range old {
		if err != nil {
			break
		}
		var rows int64
		err = s.db.again(ctx, func() error {
			return s.db.once(ctx, sql.LevelDefault, func(tx transaction) (err error) {
				rows, err = dropDay(ctx, tx, p)
				return err
			})
		})
		switch {
		case errors.Is(err, errDayChanged):
			err = nil
		case sqlState(err) == insufficientPrivilege:
			return pruned, nil // of a role that does not own the tables
		case err == nil:
			pruned += rows
		case sqlState(err) == lockNotAvailable:
			err = fmt.Errorf("partition %s: a transaction of another program uses the ledger for more than a second: %w", p.name, err)
		}
	}
	return pruned, err
}

// dayState must be equal before a partition is locked, when its sums are made, and after.
type dayState struct {
	filled, open bool
	// good is how many hours have roll-ups that are those of their rows, and are in the day's;
	// changes counts the changes of rows of all.
	good, changes int64
}

// droppable is whether nothing is lost with the partition but what the roll-ups have.
func (d dayState) droppable(p partition) bool {
	_, one := p.day()
	return !d.filled || one && !d.open && d.good == hoursOfDay
}

func stateOf(ctx context.Context, tx transaction, p partition) (d dayState, err error) {
	from := p.from
	if from == math.MinInt64 {
		from = 0
	}
	err = tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM `+p.quoted()+`), EXISTS (SELECT 1 FROM `+p.quoted()+` WHERE outcome = 'open'),
		count(*) FILTER (WHERE rolled = changed AND in_day = changed), COALESCE(sum(changed), 0)::bigint
		FROM ledger_hours WHERE hour >= ? AND hour < ?`, from/microsOfHour, p.to/microsOfHour).Scan(&d.filled, &d.open, &d.good, &d.changes)
	return d, err
}

// dropDay makes the sums of a day while others write. It then locks the partition and drops it if nothing has
// changed, which takes some milliseconds. It reports how many rows there were.
func dropDay(ctx context.Context, tx transaction, p partition) (rows int64, err error) {
	var alone bool
	if err := tx.row(ctx, `SELECT pg_try_advisory_xact_lock(?)`, int64(partitionLock)).Scan(&alone); err != nil || !alone {
		return 0, err
	}
	all, err := partitionsOf(ctx, tx)
	if err != nil || !slices.Contains(all, p) {
		return 0, err // another program has dropped it
	}
	was, err := stateOf(ctx, tx, p)
	if err != nil || !was.droppable(p) {
		return 0, err
	}
	if was.filled {
		if _, err := tx.exec(ctx, sumDay(), p.from/microsOfDay); err != nil {
			return 0, err
		}
		if err := tx.row(ctx, `SELECT COALESCE(sum(requests), 0)::bigint FROM ledger_rollups WHERE level = 2 AND period = ?`, p.from/microsOfDay).Scan(&rows); err != nil {
			return 0, err
		}
	}
	for _, statement := range []string{partitionLockWait, `LOCK TABLE ONLY ledger IN ACCESS EXCLUSIVE MODE`} {
		if _, err := tx.exec(ctx, statement); err != nil {
			return 0, err
		}
	}
	is, err := stateOf(ctx, tx, p)
	if err == nil && is != was {
		err = errDayChanged
	}
	if err != nil {
		return 0, err
	}
	if _, err := tx.exec(ctx, `DROP TABLE `+p.quoted()); err != nil {
		return 0, err
	}
	// The roll-ups are not read any more without their hours; pruneRows removes them.
	_, err = tx.exec(ctx, `DELETE FROM ledger_hours WHERE hour < ?`, p.to/microsOfHour)
	return rows, err
}
