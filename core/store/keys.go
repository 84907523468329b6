package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"time"

	"github.com/genway/genway/core/keys"
)

// keyStore is keys.Store over migrations/00001_keys.sql.
type keyStore struct {
	db database
}

var _ keys.Store = keyStore{}

// Keys keeps the callers' keys.
func (s *Store) Keys() keys.Store {
	return keyStore{db: s.db}
}

// Create adds a key.
func (s keyStore) Create(ctx context.Context, key keys.Key, hash [sha256.Size]byte) error {
	return s.db.change(ctx, func(tx transaction) error { return insertKey(ctx, tx, key, hash) })
}

// CreateFirst adds the credentials if there has never been a key. Keys are revoked
// and not deleted, so that an empty table says so, and nobody changes it meanwhile.
func (s keyStore) CreateFirst(ctx context.Context, credentials []keys.Credential) (first bool, err error) {
	err = s.db.change(ctx, func(tx transaction) error {
		var some bool
		if err := tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM keys)`).Scan(&some); err != nil {
			return fmt.Errorf("look for keys: %w", err)
		}
		first = !some
		if some {
			return nil
		}
		for _, c := range credentials {
			if err := insertKey(ctx, tx, c.Key, c.Hash); err != nil {
				return err
			}
		}
		return nil
	})
	return first && err == nil, err
}

func insertKey(ctx context.Context, tx transaction, key keys.Key, hash [sha256.Size]byte) error {
	_, err := tx.exec(ctx,
		`INSERT INTO keys (id, hash, group_name, name, create_time, expire_time, revoke_time) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		key.ID, hash[:], string(key.Group), key.Name,
		key.CreateTime.UnixMicro(), micros(key.ExpireTime), micros(key.RevokeTime))
	if tx.taken(err) {
		return keys.ErrExists
	}
	if err != nil {
		return fmt.Errorf("insert key %s: %w", key.ID, err)
	}
	return nil
}

// List returns every key, the oldest first.
func (s keyStore) List(ctx context.Context) ([]keys.Key, error) {
	credentials, err := s.query(ctx, selectKeys+` ORDER BY create_time, id`)
	if err != nil {
		return nil, err
	}
	list := make([]keys.Key, len(credentials))
	for i, c := range credentials {
		list[i] = c.Key
	}
	return list, nil
}

// Live returns what is not revoked.
func (s keyStore) Live(ctx context.Context) ([]keys.Credential, error) {
	return s.query(ctx, selectKeys+` WHERE revoke_time IS NULL`)
}

const selectKeys = `SELECT id, hash, group_name, name, create_time, expire_time, revoke_time FROM keys`

// query scans what a query that begins with selectKeys finds.
func (s keyStore) query(ctx context.Context, query string) ([]keys.Credential, error) {
	rows, err := s.db.query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("select keys: %w", err)
	}
	defer rows.Close()
	var credentials []keys.Credential
	for rows.Next() {
		var (
			c              keys.Credential
			hash           sql.RawBytes
			create         int64
			expire, revoke sql.Null[int64]
		)
		if err := rows.Scan(&c.Key.ID, &hash, &c.Key.Group, &c.Key.Name, &create, &expire, &revoke); err != nil {
			return nil, fmt.Errorf("scan key: %w", err)
		}
		copy(c.Hash[:], hash)
		c.Key.CreateTime = time.UnixMicro(create).UTC()
		c.Key.ExpireTime, c.Key.RevokeTime = moment(expire), moment(revoke)
		credentials = append(credentials, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select keys: %w", err)
	}
	return credentials, nil
}

// Revoke marks a key as revoked unless it is.
func (s keyStore) Revoke(ctx context.Context, id string, at time.Time) error {
	return s.db.change(ctx, func(tx transaction) error {
		changed, err := tx.exec(ctx, `UPDATE keys SET revoke_time = ? WHERE id = ? AND revoke_time IS NULL`, at.UnixMicro(), id)
		if err != nil {
			return fmt.Errorf("update key %s: %w", id, err)
		}
		if changed == 1 {
			return nil
		}
		var exists bool
		if err := tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM keys WHERE id = ?)`, id).Scan(&exists); err != nil {
			return fmt.Errorf("look for key %s: %w", id, err)
		}
		if !exists {
			return keys.ErrNotFound
		}
		return nil
	})
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
