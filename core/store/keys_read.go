package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/core/keys"
)

// marksSizes are how many arguments a list in a statement has: few sizes, so that the
// database knows the statement already. Lists are filled up with their last argument.
var marksSizes = []int{1, 16, 256}

// inBatches runs do for parts of list, with a placeholder for each argument.
func inBatches[T any](list []T, do func(marks string, args []any) error, arg func(T) any) error {
	for len(list) > 0 {
		size := marksSizes[len(marksSizes)-1]
		for _, s := range marksSizes {
			if len(list) <= s {
				size = s
				break
			}
		}
		n := min(len(list), size)
		args := make([]any, size, 2*size)
		for i := range args {
			args[i] = arg(list[min(i, n-1)])
		}
		if err := do("?"+strings.Repeat(", ?", size-1), args); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// List returns a page of keys.
func (s keyStore) List(ctx context.Context, query keys.Query) ([]keys.Key, error) {
	var conditions []string
	var args []any
	where := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	if query.After != "" {
		var at int64
		err := s.db.row(ctx, `SELECT create_time FROM keys WHERE id = ?`, query.After).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, keys.ErrNotFound
		}
		if err != nil {
			return nil, fmt.Errorf("select keys: %w", err)
		}
		where(`(create_time, id) > (?, ?)`, at, query.After)
	}
	if query.Group != "" {
		serving := query.Group.Serving()
		texts := make([]any, len(serving))
		for i, group := range serving {
			texts[i] = string(group)
		}
		where(`group_name IN (?`+strings.Repeat(", ?", len(texts)-1)+`)`, texts...)
	}
	if query.Owner != "" {
		where(`owner = ?`, query.Owner)
	}
	if !query.LiveAt.IsZero() {
		where(`revoke_time IS NULL AND (expire_time IS NULL OR expire_time > ?)`, query.LiveAt.UnixMicro())
	}
	condition := ""
	if len(conditions) > 0 {
		condition = `WHERE ` + strings.Join(conditions, ` AND `) + ` `
	}
	return selectKeys(ctx, s.db, condition+`ORDER BY create_time, id LIMIT ?`, append(args, query.Limit)...)
}

// Changed returns what has changed after a position.
func (s keyStore) Changed(ctx context.Context, after keys.Position, limit int) ([]keys.Position, error) {
	rows, err := s.db.query(ctx, `SELECT number, hash FROM keys_changes WHERE (number, hash) > (?, ?) ORDER BY number, hash LIMIT ?`,
		after.Number, after.Hash[:], limit)
	if err != nil {
		return nil, fmt.Errorf("select what has changed of the keys: %w", err)
	}
	defer rows.Close()
	var changed []keys.Position
	for rows.Next() {
		var p keys.Position
		var hash sql.RawBytes
		if err := rows.Scan(&p.Number, &hash); err != nil {
			return nil, fmt.Errorf("scan what has changed of the keys: %w", err)
		}
		copy(p.Hash[:], hash)
		changed = append(changed, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select what has changed of the keys: %w", err)
	}
	return changed, nil
}

// holderColumns are the columns of a holderRow.
const holderColumns = `id, group_name, create_time, hash, previous_hash, previous_expire_time, name, owner, policy, expire_time, revoke_time`

// Holders returns who holds secrets.
func (s keyStore) Holders(ctx context.Context, hashes []keys.Digest) ([]keys.Holder, error) {
	var list []keys.Holder
	err := inBatches(hashes, func(marks string, args []any) error {
		found, _, _, err := s.holders(ctx, `WHERE (hash IN (`+marks+`) OR previous_hash IN (`+marks+`)) AND revoke_time IS NULL`, append(args, args...)...)
		list = append(list, found...)
		return err
	}, func(h keys.Digest) any { return h[:] })
	return list, err
}

// Holding returns a page of who holds secrets. Revoked keys are read and left out here, so
// that a page costs the same whatever is in it.
func (s keyStore) Holding(ctx context.Context, after keys.Place, limit int) ([]keys.Holder, keys.Place, error) {
	condition, args := `ORDER BY create_time, id LIMIT ?`, []any{limit}
	if after != (keys.Place{}) {
		condition, args = `WHERE (create_time, id) > (?, ?) `+condition, []any{after.CreateTime.UnixMicro(), after.ID, limit}
	}
	list, last, n, err := s.holders(ctx, condition, args...)
	if err != nil || n == 0 {
		return nil, after, err
	}
	return list, last, nil
}

// holders returns the holders of the secrets of keys that a condition finds, the place of the
// last of these keys, and how many they are.
func (s keyStore) holders(ctx context.Context, condition string, args ...any) (list []keys.Holder, last keys.Place, n int, err error) {
	rows, err := s.db.query(ctx, `SELECT `+holderColumns+` FROM keys `+condition, args...)
	if err != nil {
		return nil, last, 0, fmt.Errorf("select holders of keys: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var (
			h                           keys.Holder
			group                       string
			create                      int64
			hash, previous              sql.RawBytes
			previousEnd, expire, revoke sql.Null[int64]
		)
		if err := rows.Scan(&h.KeyID, &group, &create, &hash, &previous, &previousEnd, &h.Name, &h.Owner, &h.Policy, &expire, &revoke); err != nil {
			return nil, last, 0, fmt.Errorf("scan a holder of keys: %w", err)
		}
		last, n = keys.Place{CreateTime: time.UnixMicro(create).UTC(), ID: h.KeyID}, n+1
		if revoke.Valid {
			continue
		}
		if len(hash) != sha256.Size || previous != nil && len(previous) != sha256.Size {
			return nil, last, 0, fmt.Errorf("key %s: its hash is not one", h.KeyID)
		}
		h.Group = keys.Group(group)
		copy(h.Hash[:], hash)
		h.End = moment(expire)
		list = append(list, h)
		if previous != nil {
			older := h
			copy(older.Hash[:], previous)
			if previousEnd.Valid && (!expire.Valid || previousEnd.V < expire.V) {
				older.End = moment(previousEnd)
			}
			list = append(list, older)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, last, 0, fmt.Errorf("select holders of keys: %w", err)
	}
	return list, last, n, nil
}

// KeyNames returns the names of the keys that have those ids and a name, revoked and expired ones too.
func (s *Store) KeyNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := map[string]string{}
	err := inBatches(ids, func(marks string, args []any) error {
		rows, err := s.db.query(ctx, `SELECT id, name FROM keys WHERE name <> '' AND id IN (`+marks+`)`, args...)
		if err != nil {
			return fmt.Errorf("select the names of keys: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, name string
			if err := rows.Scan(&id, &name); err != nil {
				return fmt.Errorf("scan the name of a key: %w", err)
			}
			names[id] = name
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("select the names of keys: %w", err)
		}
		return nil
	}, func(id string) any { return text(id) })
	return names, err
}
