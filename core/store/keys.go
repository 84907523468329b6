package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/go-json-experiment/json"
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
		if err := tx.withLargeCache(ctx, func() error { return importKeys(ctx, tx, batches) }); err != nil {
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
		after := found[0]
		after.ID, after.Group = before.ID, before.Group
		if after.Name != before.Name { // before the key has it itself
			if err := namesTaken(ctx, tx, []keys.Key{after}); err != nil {
				return err
			}
		}
		if err := updateKey(ctx, tx, after); err != nil {
			return err
		}
		return record(ctx, tx, changes)
	})
}

// Find returns the key with that id and the keys with that name.
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

func updateKey(ctx context.Context, tx transaction, key keys.Key) error {
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
		append(row.changeable(), key.ID)...)
	if err != nil {
		return fmt.Errorf("update key %s: %w", key.ID, err)
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
	err := inBatches(hashes, func(marks string, args []any) error {
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

// namesOf returns the name of a live key in each of its groups; none for a key without a name.
func namesOf(key keys.Key) (list []keys.Named) {
	if key.Name == "" || key.RevokeTime != nil {
		return nil
	}
	for _, group := range key.Group.Each() {
		list = append(list, keys.Named{Group: group, Name: key.Name})
	}
	return list
}

// namesTaken looks for live keys that have a name of list's and serve the same group, in the
// store or further ahead in list. No index demands that there are none, since stores written
// by earlier versions have keys that share a name.
func namesTaken(ctx context.Context, tx transaction, list []keys.Key) error {
	var names []keys.Named
	for _, key := range list {
		names = append(names, namesOf(key)...)
	}
	taken, err := named(ctx, tx, names)
	if err != nil {
		return err
	}
	for i, key := range list {
		for _, name := range namesOf(key) {
			if by, ok := taken[name]; ok {
				return &keys.NameTakenError{Key: key.ID, By: by, Index: i}
			}
			taken[name] = key.ID
		}
	}
	return nil
}

// named returns which of names unrevoked keys have, each with the id of the
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
	err := inBatches(texts, func(marks string, args []any) error {
		rows, err := from.query(ctx, `SELECT id, group_name, name, create_time FROM keys WHERE name IN (`+marks+`) AND revoke_time IS NULL`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key keys.Key
			var h holder
			if err := rows.Scan(&h.id, &key.Group, &key.Name, &h.create); err != nil {
				return err
			}
			for _, name := range namesOf(key) {
				if o, ok := oldest[name]; asked[name] && (!ok || h.create < o.create || h.create == o.create && h.id < o.id) {
					oldest[name] = h
				}
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
