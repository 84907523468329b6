package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

// keyStore is keys.Store over the tables of keys in migrations.
type keyStore struct {
	db database
}

var _ keys.Store = keyStore{}

// Keys keeps the callers' keys.
func (s *Store) Keys() keys.Store {
	return keyStore{db: s.db}
}

// Create adds the keys.
func (s keyStore) Create(ctx context.Context, list []keys.Key, changes []audit.Change) error {
	return s.db.change(ctx, func(tx transaction) error { return insertKeys(ctx, tx, list, changes) })
}

// errDry ends a transaction that is not to be kept.
var errDry = errors.New("a dry run")

// Import adds the keys of all batches. It waits for other writers until it begins to read; from
// then on nothing is tried again, since batches are read once.
func (s keyStore) Import(ctx context.Context, batches iter.Seq2[keys.Batch, error], dry bool) error {
	err := s.db.changeOnce(ctx, func(tx transaction) error {
		if err := tx.roomy(ctx, func() error { return importKeys(ctx, tx, batches) }); err != nil {
			return err
		}
		if dry {
			return errDry
		}
		return nil
	})
	if dry && errors.Is(err, errDry) {
		return nil
	}
	return err
}

func importKeys(ctx context.Context, tx transaction, batches iter.Seq2[keys.Batch, error]) error {
	ahead := 0
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if err := insertKeys(ctx, tx, batch.Keys, batch.Changes); err != nil {
			if taken, ok := errors.AsType[*keys.NameTakenError](err); ok {
				taken.Index += ahead
			}
			return err
		}
		ahead += len(batch.Keys)
	}
	return nil
}

// CreateFirst adds the keys if there has never been one. Keys are revoked and not
// deleted, so an empty table proves that, and no other transaction changes it meanwhile.
func (s keyStore) CreateFirst(ctx context.Context, list []keys.Key, changes []audit.Change) (first bool, err error) {
	err = s.db.change(ctx, func(tx transaction) error {
		var some bool
		if err := tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM keys)`).Scan(&some); err != nil {
			return fmt.Errorf("look for keys: %w", err)
		}
		first = !some
		if some {
			return nil
		}
		return insertKeys(ctx, tx, list, changes)
	})
	return first && err == nil, err
}

// Update changes a key as change says. The transaction excludes others from its beginning,
// so that what change was given is still true when it is written.
func (s keyStore) Update(ctx context.Context, id string, change func(*keys.Key) ([]audit.Change, error)) error {
	return s.db.change(ctx, func(tx transaction) error {
		found, err := selectKeys(ctx, tx, `WHERE id = ?`, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return keys.ErrNotFound
		}
		before := found[0].Clone()
		changes, err := change(&found[0])
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := updateKey(ctx, tx, id, found[0]); err != nil {
			return err
		}
		if found[0].Name != before.Name && found[0].RevokeTime == nil {
			if err := nameTaken(ctx, tx, before.ID, before.Group, found[0].Name); err != nil {
				return err
			}
		}
		return record(ctx, tx, changes)
	})
}

// Find returns the key of that id and those of that name.
func (s keyStore) Find(ctx context.Context, ref string) ([]keys.Key, error) {
	list, err := selectKeys(ctx, s.db, `WHERE id = ? OR name = ?`, ref, ref)
	// An ORDER BY would have the database read all keys in that order until it met these.
	slices.SortFunc(list, func(a, b keys.Key) int {
		return cmp.Or(a.CreateTime.Compare(b.CreateTime), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// Version counts the changes of the keys.
func (s keyStore) Version(ctx context.Context) (version int64, err error) {
	if err := s.db.row(ctx, `SELECT version FROM keys_version`).Scan(&version); err != nil {
		return 0, fmt.Errorf("select the keys' version: %w", err)
	}
	return version, nil
}

// micros is t as the schema keeps it.
func micros(t *time.Time) sql.Null[int64] {
	if t == nil {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: t.UnixMicro(), Valid: true}
}

// moment is micros' inverse.
func moment(n sql.Null[int64]) *time.Time {
	if !n.Valid {
		return nil
	}
	t := time.UnixMicro(n.V).UTC()
	return &t
}
