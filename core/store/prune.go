package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
			// Sums by hour go with the rows. So do those of a day that has lost some of them.
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
