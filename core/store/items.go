package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
)

// itemStore is items.Store over the table items.
type itemStore struct{ db database }

var _ items.Store = itemStore{}

// Items keeps the items of answers.
func (s *Store) Items() items.Store { return itemStore{s.db} }

// manyItems is how many rows one statement reads or writes.
const manyItems = 200

// replaceItem follows the values of an insertion into items. A row that was deleted, which has nothing sealed, stays so: the
// entry that it belongs to may be written, or written again, after that.
const replaceItem = ` ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, expires = excluded.expires WHERE length(items.sealed) > 0`

// itemsOf returns the items of entries, each once, in the order of their identifiers: two writers of the same rows do
// not wait for each other.
func itemsOf(entries []*ledger.Entry) []ledger.Item {
	var all []ledger.Item
	for _, e := range entries {
		all = append(all, e.Items...)
	}
	order := func(a, b ledger.Item) int { return bytes.Compare(a.ID[:], b.ID[:]) }
	slices.SortStableFunc(all, order)
	return slices.CompactFunc(all, func(a, b ledger.Item) bool { return order(a, b) == 0 })
}

// Put inserts or replaces rows.
func (s itemStore) Put(ctx context.Context, rows []ledger.Item) error {
	err := s.db.isolated(ctx, func(tx transaction) error {
		for some := range slices.Chunk(rows, manyItems) {
			args := make([]any, 0, 3*len(some))
			for _, r := range some {
				args = append(args, r.ID[:], r.Sealed, r.Expires.UnixMicro())
			}
			if _, err := tx.exec(ctx, `INSERT INTO items (id, sealed, expires) VALUES `+repeated("(?, ?, ?)", len(some))+replaceItem, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("insert items: %w", err)
	}
	return nil
}

// Get returns rows by their identifiers.
func (s itemStore) Get(ctx context.Context, ids [][sha256.Size]byte) (found []ledger.Item, err error) {
	for some := range slices.Chunk(ids, manyItems) {
		if found, err = s.get(ctx, some, found); err != nil {
			return nil, fmt.Errorf("select items: %w", err)
		}
	}
	return found, nil
}

func (s itemStore) get(ctx context.Context, ids [][sha256.Size]byte, found []ledger.Item) ([]ledger.Item, error) {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	rows, err := s.db.query(ctx, `SELECT id, sealed, expires FROM items WHERE id IN (`+repeated("?", len(ids))+`)`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var expires int64
		var r ledger.Item
		if err := rows.Scan(&id, &r.Sealed, &expires); err != nil {
			return nil, err
		}
		copy(r.ID[:], id)
		r.Expires = time.UnixMicro(expires)
		found = append(found, r)
	}
	return found, rows.Err()
}

// Expire removes rows.
func (s itemStore) Expire(ctx context.Context, before time.Time, count int) (int64, error) {
	removed, err := s.db.exec(ctx, `DELETE FROM items WHERE id IN (SELECT id FROM items WHERE expires < ? ORDER BY expires LIMIT ?)`, before.UnixMicro(), count)
	if err != nil {
		return 0, fmt.Errorf("delete items: %w", err)
	}
	return removed, nil
}

func repeated(text string, times int) string {
	return strings.TrimSuffix(strings.Repeat(text+", ", times), ", ")
}
