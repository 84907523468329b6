package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
)

// InspectPartitioning reads how far the partitioning of a ledger is, and changes nothing.
func InspectPartitioning(ctx context.Context, cfg Config, now time.Time) (Partitioning, error) {
	var found Partitioning
	err := converting(ctx, cfg, func(_ *pgx.ConnConfig, db database) (err error) {
		found, err = (&conversion{db: db, now: now}).inspect(ctx)
		return err
	})
	return found, err
}

// inspect reads the state of the database.
func (c *conversion) inspect(ctx context.Context) (found Partitioning, err error) {
	err = c.db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		byDay, err := isByDay(ctx, c.db)
		if err != nil {
			return err
		}
		if byDay {
			all, err := partitionsOf(ctx, tx)
			for _, p := range all {
				found.Partitions = append(found.Partitions, p.name)
			}
			return err
		}
		if found.Obstacles, err = obstacles(ctx, tx, c.now); err != nil {
			return err
		}
		if err := tx.row(ctx, `SELECT GREATEST(reltuples, 0)::bigint, pg_total_relation_size(oid) FROM pg_class WHERE oid = 'ledger'::regclass`).Scan(&found.Rows, &found.Bytes); err != nil {
			return err
		}
		var bound int64
		if bound, found.proved, err = boundOf(ctx, tx); err != nil {
			return err
		}
		if bound >= c.now.Add(24*time.Hour).UnixMicro() {
			found.bounded, found.Bound = true, time.UnixMicro(bound).UTC()
		} else {
			found.proved = false
			var obstacle string
			if found.Bound, obstacle, err = c.newBound(ctx, tx); err != nil {
				return err
			}
			if obstacle != "" {
				found.Obstacles = append(found.Obstacles, obstacle)
			}
		}
		defer func() {
			for _, s := range c.steps(found) {
				found.Steps = append(found.Steps, s.name)
			}
		}()
		return tx.row(ctx, `SELECT COALESCE((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(?)), FALSE)`, identityIndex).Scan(&found.indexed)
	})
	return found, err
}
