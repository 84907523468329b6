package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"
)

var boundPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`start_time < '?(-?\d+)'?`) })

// boundOf reads the constraint of an earlier call; 0 is none.
func boundOf(ctx context.Context, tx transaction) (bound int64, proved bool, err error) {
	var definition string
	err = tx.row(ctx, `SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND conname = ?`, firstBound).Scan(&definition, &proved)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	digits := boundPattern().FindStringSubmatch(definition)
	if digits == nil {
		return 0, false, fmt.Errorf("constraint %s is none of this program's: %s", firstBound, definition)
	}
	bound, err = strconv.ParseInt(digits[1], 10, 64)
	return bound, proved, err
}

// newBound is the end of the first partition: firstDays from today, or the day after the last row if that
// is later.
func (c *conversion) newBound(ctx context.Context, tx transaction) (bound time.Time, obstacle string, err error) {
	today := c.now.UTC().Truncate(24 * time.Hour)
	bound = today.AddDate(0, 0, firstDays+1)
	var last sql.NullInt64
	if err := tx.row(ctx, `SELECT max(start_time) FROM ledger`).Scan(&last); err != nil || !last.Valid {
		return bound, "", err
	}
	latest := time.UnixMicro(last.Int64).UTC()
	if latest.After(today.AddDate(0, 0, furthest)) {
		obstacle = fmt.Sprintf("a request began on %s by the clock of its core, which was wrong: rows later than %s cannot be in the first partition, remove them",
			latest.Format(time.DateOnly), today.AddDate(0, 0, furthest).Format(time.DateOnly))
	}
	if !latest.Before(bound) {
		bound = latest.Truncate(24*time.Hour).AddDate(0, 0, 1)
	}
	return bound, obstacle, nil
}

// bound adds the constraint, for which all others wait a moment.
func (c *conversion) bound(ctx context.Context, found Partitioning) error {
	return c.bounded(ctx, func(tx transaction) error {
		for _, statement := range []string{
			`ALTER TABLE ledger DROP CONSTRAINT IF EXISTS ` + firstBound,
			fmt.Sprintf(`ALTER TABLE ledger ADD CONSTRAINT %s CHECK (start_time < %d) NOT VALID`, firstBound, found.Bound.UnixMicro()),
		} {
			if _, err := tx.exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// prove has the server read all rows.
func (c *conversion) prove(ctx context.Context, _ Partitioning) error {
	_, err := c.db.exec(ctx, `ALTER TABLE ledger VALIDATE CONSTRAINT `+firstBound)
	if c.db.refused(err) {
		// A row came between the look for the last one and the constraint.
		return errors.Join(fmt.Errorf("%w: a row is beyond the bound: run it again", ErrPartition), c.takeBack(ctx))
	}
	return err
}
