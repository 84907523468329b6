package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture/vault"
)

// captureStore is vault.Store over the table captures.
type captureStore struct{ db database }

var _ vault.Store = captureStore{}

// Captures keeps captured bodies.
func (s *Store) Captures() vault.Store { return captureStore{s.db} }

// Put inserts or replaces rows. They are large, so that one statement has one of them.
func (s captureStore) Put(ctx context.Context, rows []vault.Row) error {
	err := s.db.isolated(ctx, func(tx transaction) error {
		for _, r := range rows {
			_, err := tx.exec(ctx, `INSERT INTO captures (process, number, key_id, start_time, expires, sealed_by, content) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (process, number) DO UPDATE SET key_id = excluded.key_id, start_time = excluded.start_time, expires = excluded.expires, sealed_by = excluded.sealed_by, content = excluded.content`,
				r.Process, r.Number, r.KeyID, r.Start.UnixMicro(), r.Expires.UnixMicro(), r.SealedBy, r.Content)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("insert captures: %w", err)
	}
	return nil
}

// Get reads the row of a request, in one transaction with the audit's entry.
func (s captureStore) Get(ctx context.Context, process, number int64, reading audit.Change) (*vault.Row, error) {
	var found *vault.Row
	err := s.db.change(ctx, func(tx transaction) error {
		r := vault.Row{Process: process, Number: number}
		var start, expires int64
		err := tx.row(ctx, `SELECT key_id, start_time, expires, sealed_by, content FROM captures WHERE process = ? AND number = ?`, process, number).
			Scan(&r.KeyID, &start, &expires, &r.SealedBy, &r.Content)
		if found = nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Start, r.Expires = time.UnixMicro(start).UTC(), time.UnixMicro(expires).UTC()
		found = &r
		return record(ctx, tx, []audit.Change{reading})
	})
	if err != nil {
		return nil, fmt.Errorf("select capture: %w", err)
	}
	return found, nil
}

// Has looks for the row of a request.
func (s captureStore) Has(ctx context.Context, process, number int64) (has bool, err error) {
	if err := s.db.row(ctx, `SELECT EXISTS (SELECT 1 FROM captures WHERE process = ? AND number = ?)`, process, number).Scan(&has); err != nil {
		return false, fmt.Errorf("look for a capture: %w", err)
	}
	return has, nil
}

// Delete removes rows, the oldest first, in one transaction with the audit's entries.
func (s captureStore) Delete(ctx context.Context, which vault.Selection, count int, changes ...audit.Change) (removed int64, err error) {
	condition, order, args := `process = ? AND number = ?`, `start_time`, []any{which.Process, which.Number}
	switch {
	case which.All:
		condition, args = `start_time >= ?`, []any{int64(-1 << 63)}
	case which.KeyID != "":
		condition, args = `key_id = ?`, []any{which.KeyID}
	case !which.Before.IsZero():
		condition, order, args = `expires < ?`, `expires`, []any{which.Before.UnixMicro()}
	}
	statement, args := `DELETE FROM captures WHERE (process, number) IN (SELECT process, number FROM captures WHERE `+condition+` ORDER BY `+order+` LIMIT ?)`, append(args, count)
	if len(changes) == 0 {
		removed, err = s.db.exec(ctx, statement, args...)
	} else {
		err = s.db.change(ctx, func(tx transaction) (err error) {
			if removed, err = tx.exec(ctx, statement, args...); err != nil {
				return err
			}
			return record(ctx, tx, changes)
		})
	}
	if err != nil {
		return 0, fmt.Errorf("delete captures: %w", err)
	}
	return removed, nil
}
