package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/jackc/pgx/v5"
)

// prunedBy are the columns that ledger_days has a row for each combination of.
var prunedBy = []string{"day", "key_id", "owner", "protocol", "model", "upstream", "served_model"}

// sumPruned adds the entries up to a time to the sums, each of which saturates.
func sumPruned(d *dialect) string {
	by := "start_time / 86400000000, " + strings.Join(prunedBy[1:], ", ")
	columns, values, add := slices.Clone(prunedBy), []string{by}, []string(nil)
	for _, s := range sums {
		columns, values = append(columns, s.column), append(values, s.ofEntries(d.sum))
		add = append(add, s.column+" = "+saturated("ledger_days."+s.column, "excluded."+s.column))
	}
	return `INSERT INTO ledger_days (` + strings.Join(columns, ", ") + `) SELECT ` + strings.Join(values, ", ") + ` FROM ledger WHERE start_time <= ? AND outcome <> 'open' GROUP BY ` + by + `
		ON CONFLICT (` + strings.Join(prunedBy, ", ") + `) DO UPDATE SET ` + strings.Join(add, ", ")
}

// saturated adds two numbers that are not below 0.
func saturated(a, b string) string {
	return "CASE WHEN " + a + " > 9223372036854775807 - " + b + " THEN 9223372036854775807 ELSE " + a + " + " + b + " END"
}

// longestMonth is in days. What was spent so long before a day that is kept is no part of a
// budget any more.
const longestMonth = 31

// Prune drops the partitions of days whose sums are known, and prunes the rest by rows.
func (s ledgerStore) Prune(ctx context.Context, before time.Time, count int64) (int64, error) {
	day := before.UnixMicro() / microsOfDay * microsOfDay
	dropped, err := s.dropDays(ctx, day)
	if err != nil {
		return dropped, fmt.Errorf("prune days: %w", err)
	}
	pruned, err := s.pruneRows(ctx, day, count)
	return dropped + pruned, err
}

// pruneRows sums entries up and removes them, both or neither. What is summed up is what is
// removed: others that change an entry in between are in the way of it, and it begins
// again.
func (s ledgerStore) pruneRows(ctx context.Context, day, count int64) (pruned int64, err error) {
	err = s.db.isolated(ctx, func(tx transaction) error {
		pruned = 0
		last := day - 1
		err := tx.row(ctx, `SELECT start_time FROM ledger WHERE start_time < ? AND outcome <> 'open' ORDER BY start_time LIMIT 1 OFFSET ?`, day, max(count, 1)-1).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := tx.exec(ctx, sumPruned(s.db.dialect), last); err != nil {
			return err
		}
		if pruned, err = tx.exec(ctx, `DELETE FROM ledger WHERE start_time <= ? AND outcome <> 'open'`, last); err != nil {
			return err
		}
		for _, forget := range []struct {
			statement string
			before    int64
		}{
			{`DELETE FROM captures WHERE start_time < ?`, last + 1},
			{`DELETE FROM ledger_spent WHERE day < ?`, day/microsOfDay - longestMonth},
			// Sums by hour go with the rows. So do the sums of a day that has lost some of its rows.
			{`DELETE FROM ledger_hours WHERE hour < ?`, (last + 1) / microsOfHour},
			{`DELETE FROM ledger_rollups WHERE level = 0 AND period < ?`, (last + 1) / microsOfHour},
			{`DELETE FROM ledger_rollups WHERE level IN (1, 2) AND period <= ?`, last / microsOfDay},
		} {
			if _, err := tx.exec(ctx, forget.statement, forget.before); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("prune entries: %w", err)
	}
	return pruned, nil
}

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

// errDayChanged says that a partition may not be dropped: its rows have changed since they were looked at.
var errDayChanged = errors.New("rows of the day have changed meanwhile")

// dropDays drops the partitions of days that ended before a time, in microseconds since 1970, each in a
// transaction: partitions without rows, and days whose roll-ups match their rows, all
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
	// good is how many hours have roll-ups that match their rows, and are in the day's;
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
	// partitionLockWait bounds how long others wait for a change of the partitions that waits itself.
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
