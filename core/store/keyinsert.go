package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

// insertBatch is how many keys one statement inserts: an import of many pays for few
// statements. Of 14 values a key, both databases take that many at once.
const insertBatch = 256

// insertKeys adds keys, batch by batch, and what is recorded of them.
func insertKeys(ctx context.Context, tx transaction, list []keys.Key, changes []audit.Change) error {
	for rest := list; len(rest) > 0; {
		n := min(len(rest), insertBatch)
		if err := insertSome(ctx, tx, rest[:n]); err != nil {
			if taken, ok := errors.AsType[*keys.NameTakenError](err); ok {
				taken.Index += len(list) - len(rest)
			}
			return err
		}
		rest = rest[n:]
	}
	return record(ctx, tx, changes)
}

func insertSome(ctx context.Context, tx transaction, list []keys.Key) error {
	values := make([]any, 0, 14*len(list))
	hashes := make([]keys.Digest, 0, len(list)+1)
	seen := make(map[keys.Digest]bool, len(list))
	for _, key := range list {
		row, err := rowOf(key)
		if err != nil {
			return err
		}
		values = append(append(values, row.id, row.group, row.create), row.changeable()...)
		for _, secret := range key.Secrets {
			if seen[secret.Hash] {
				return keys.ErrExists
			}
			seen[secret.Hash] = true
			hashes = append(hashes, secret.Hash)
		}
	}
	if err := hashesTaken(ctx, tx, hashes); err != nil {
		return err
	}
	// Before the keys are inserted, so that none is found by its own name.
	if err := namesTaken(ctx, tx, list); err != nil {
		return err
	}
	const one = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	_, err := tx.exec(ctx, `INSERT INTO keys (`+keyColumns+`) VALUES `+one+strings.Repeat(", "+one, len(list)-1), values...)
	if tx.taken(err) {
		return keys.ErrExists
	}
	if err != nil {
		return fmt.Errorf("insert %d keys from %s: %w", len(list), list[0].ID, err)
	}
	return nil
}

// hashesTaken looks for keys that have one of the hashes, as their secret or as the one
// before it: each column is unique by itself, both together are not.
func hashesTaken(ctx context.Context, tx transaction, hashes []keys.Digest) error {
	var some bool
	err := among(hashes, func(marks string, args []any) error {
		if some {
			return nil
		}
		return tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM keys WHERE hash IN (`+marks+`)) OR EXISTS (SELECT 1 FROM keys WHERE previous_hash IN (`+marks+`))`,
			append(args, args...)...).Scan(&some)
	}, func(h keys.Digest) any { return h[:] })
	if err != nil {
		return fmt.Errorf("look for secrets: %w", err)
	}
	if some {
		return keys.ErrExists
	}
	return nil
}

// namesTaken looks for live keys of the same group that have a name of list's, in the store
// or further ahead in list.
func namesTaken(ctx context.Context, tx transaction, list []keys.Key) error {
	var names []keys.Named
	for _, key := range list {
		if key.Name != "" && key.RevokeTime == nil {
			names = append(names, keys.Named{Group: key.Group, Name: key.Name})
		}
	}
	taken, err := named(ctx, tx, names)
	if err != nil {
		return err
	}
	for i, key := range list {
		if key.Name == "" || key.RevokeTime != nil {
			continue
		}
		name := keys.Named{Group: key.Group, Name: key.Name}
		if by, ok := taken[name]; ok {
			return &keys.NameTakenError{Key: key.ID, By: by, Index: i}
		}
		taken[name] = key.ID
	}
	return nil
}

// named returns those of names that keys have which are not revoked, each with the id of the
// oldest such key.
func named(ctx context.Context, from queryer, names []keys.Named) (map[keys.Named]string, error) {
	type holder struct {
		id     string
		create int64
	}
	asked := make(map[keys.Named]bool, len(names))
	texts := make([]string, 0, len(names))
	for _, name := range names {
		if !asked[name] {
			asked[name] = true
			texts = append(texts, name.Name)
		}
	}
	oldest := map[keys.Named]holder{}
	err := among(texts, func(marks string, args []any) error {
		rows, err := from.query(ctx, `SELECT id, group_name, name, create_time FROM keys WHERE name IN (`+marks+`) AND revoke_time IS NULL`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var group string
			var name keys.Named
			var h holder
			if err := rows.Scan(&h.id, &group, &name.Name, &h.create); err != nil {
				return err
			}
			name.Group = keys.Group(group)
			if o, ok := oldest[name]; asked[name] && (!ok || h.create < o.create || h.create == o.create && h.id < o.id) {
				oldest[name] = h
			}
		}
		return rows.Err()
	}, func(name string) any { return name })
	if err != nil {
		return nil, fmt.Errorf("look for names: %w", err)
	}
	taken := make(map[keys.Named]string, len(oldest))
	for name, h := range oldest {
		taken[name] = h.id
	}
	return taken, nil
}
