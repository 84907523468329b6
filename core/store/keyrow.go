package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/genway/genway/core/keys"
)

// keyColumns are the columns of a key, in the order of keyRow.into.
const keyColumns = `id, group_name, create_time, hash, secret_time, previous_hash, previous_time, previous_expire_time,
	name, owner, labels, policy, expire_time, revoke_time`

// keyRow is a key as the schema has it.
type keyRow struct {
	id, group         string
	create            int64
	hash              []byte
	made              int64
	previous          []byte // nil for none
	previousMade, end sql.Null[int64]
	name, owner       string
	labels, policy    string // JSON
	expire, revoke    sql.Null[int64]
}

// into are where a row of keyColumns is read into.
func (r *keyRow) into() []any {
	return []any{
		&r.id, &r.group, &r.create, &r.hash, &r.made, &r.previous, &r.previousMade, &r.end,
		&r.name, &r.owner, &r.labels, &r.policy, &r.expire, &r.revoke,
	}
}

// changeable are the values of keyColumns but the first three.
func (r *keyRow) changeable() []any {
	return []any{
		r.hash, r.made, r.previous, r.previousMade, r.end,
		r.name, r.owner, r.labels, r.policy, r.expire, r.revoke,
	}
}

// nameTaken looks for another live key of the group that has the name. No index demands
// it, since stores written by earlier versions have keys that share one. The order is an
// expression so that no database walks through the index of all keys' times for it.
func nameTaken(ctx context.Context, tx transaction, id string, group keys.Group, name string) error {
	if name == "" {
		return nil
	}
	var by string
	err := tx.row(ctx, `SELECT id FROM keys WHERE name = ? AND group_name = ? AND id <> ? AND revoke_time IS NULL ORDER BY create_time + 0, id LIMIT 1`,
		name, string(group), id).Scan(&by)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for the name of key %s: %w", id, err)
	}
	return &keys.NameTakenError{Key: id, By: by}
}

func updateKey(ctx context.Context, tx transaction, id string, key keys.Key) error {
	key.ID = id
	row, err := rowOf(key)
	if err != nil {
		return err
	}
	if err := secretsTaken(ctx, tx, row); err != nil {
		return err
	}
	_, err = tx.exec(ctx,
		`UPDATE keys SET hash = ?, secret_time = ?, previous_hash = ?, previous_time = ?, previous_expire_time = ?,
			name = ?, owner = ?, labels = ?, policy = ?, expire_time = ?, revoke_time = ? WHERE id = ?`,
		append(row.changeable(), id)...)
	if err != nil {
		return fmt.Errorf("update key %s: %w", id, err)
	}
	return nil
}

// secretsTaken looks for another key that has one of the row's secrets: each column
// is unique by itself, both together are not.
func secretsTaken(ctx context.Context, tx transaction, row *keyRow) error {
	older := row.previous
	if older == nil {
		older = row.hash
	}
	var some bool
	err := tx.row(ctx, `SELECT EXISTS (SELECT 1 FROM keys WHERE id <> ? AND (hash IN (?, ?) OR previous_hash IN (?, ?)))`,
		row.id, row.hash, older, row.hash, older).Scan(&some)
	if err != nil {
		return fmt.Errorf("look for the secrets of key %s: %w", row.id, err)
	}
	if some {
		return keys.ErrExists
	}
	return nil
}

// queryer is a database or a transaction.
type queryer interface {
	query(ctx context.Context, statement string, args ...any) (*result, error)
}

// selectKeys returns the keys that a condition finds.
func selectKeys(ctx context.Context, from queryer, condition string, args ...any) ([]keys.Key, error) {
	rows, err := from.query(ctx, `SELECT `+keyColumns+` FROM keys `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("select keys: %w", err)
	}
	defer rows.Close()
	var list []keys.Key
	for rows.Next() {
		var row keyRow
		if err := rows.Scan(row.into()...); err != nil {
			return nil, fmt.Errorf("scan key: %w", err)
		}
		key, err := row.key()
		if err != nil {
			return nil, err
		}
		list = append(list, key)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select keys: %w", err)
	}
	return list, nil
}

// rowOf returns a key's row.
func rowOf(key keys.Key) (*keyRow, error) {
	if n := len(key.Secrets); n < 1 || n > 2 || key.Secrets[0].ExpireTime != nil || n == 2 && key.Secrets[1].ExpireTime == nil {
		return nil, fmt.Errorf("key %s: want a secret without an end, and at most one before it with one", key.ID)
	}
	labels, err := json.Marshal(key.Labels, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("key %s: labels: %w", key.ID, err)
	}
	policy, err := json.Marshal(key.Policy)
	if err != nil {
		return nil, fmt.Errorf("key %s: policy: %w", key.ID, err)
	}
	current := key.Secrets[0]
	row := &keyRow{
		id: key.ID, group: string(key.Group), create: key.CreateTime.UnixMicro(),
		hash: current.Hash[:], made: current.CreateTime.UnixMicro(),
		name: key.Name, owner: key.Owner, labels: string(labels), policy: string(policy),
		expire: micros(key.ExpireTime), revoke: micros(key.RevokeTime),
	}
	if len(key.Secrets) == 2 {
		previous := key.Secrets[1]
		row.previous = previous.Hash[:]
		row.previousMade, row.end = micros(&previous.CreateTime), micros(previous.ExpireTime)
	}
	return row, nil
}

// key returns a row's key. A policy with a member that this program does not know is
// an error: what cannot be read cannot be kept to.
func (r *keyRow) key() (keys.Key, error) {
	key := keys.Key{
		ID: r.id, Group: keys.Group(r.group),
		Settings:   keys.Settings{Name: r.name, Owner: r.owner, ExpireTime: moment(r.expire)},
		CreateTime: time.UnixMicro(r.create).UTC(), RevokeTime: moment(r.revoke),
		Secrets: []keys.Secret{{CreateTime: time.UnixMicro(r.made).UTC()}},
	}
	if len(r.hash) != sha256.Size || r.previous != nil && len(r.previous) != sha256.Size {
		return keys.Key{}, fmt.Errorf("key %s: its hash is not one", r.id)
	}
	copy(key.Secrets[0].Hash[:], r.hash)
	if r.previous != nil {
		previous := keys.Secret{CreateTime: time.UnixMicro(r.previousMade.V).UTC(), ExpireTime: moment(r.end)}
		copy(previous.Hash[:], r.previous)
		key.Secrets = append(key.Secrets, previous)
	}
	if err := json.Unmarshal([]byte(r.labels), &key.Labels); err != nil {
		return keys.Key{}, fmt.Errorf("key %s: labels: %w", r.id, err)
	}
	if len(key.Labels) == 0 {
		key.Labels = nil
	}
	if err := json.Unmarshal([]byte(r.policy), &key.Policy, json.RejectUnknownMembers(true)); err != nil {
		return keys.Key{}, fmt.Errorf("key %s: policy: %w", r.id, err)
	}
	return key, nil
}
