package keys_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store/storetest"
)

// memory is a store whose answers a test can watch, hold up and make fail.
type memory struct {
	mu      sync.Mutex
	keys    []keys.Key
	entries []*audit.Entry
	version int64
	// noted is the version as of which each secret was last changed.
	noted  map[keys.Digest]int64
	closed bool

	// versions counts the calls of Version; before runs within each.
	versions int
	before   func(context.Context) error
}

var errClosed = errors.New("closed")

// enter begins a call: every method's first line.
func (m *memory) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, errClosed
	}
	return m.mu.Unlock, nil
}

func (m *memory) Create(ctx context.Context, list []keys.Key, changes []audit.Change) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return m.add(list, changes)
}

func (m *memory) Import(ctx context.Context, batches iter.Seq2[keys.Batch, error], dry bool) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	before, entries, version := m.keys, m.entries, m.version
	undo := func(err error) error {
		m.keys, m.entries, m.version = before, entries, version
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return undo(err)
		}
		if err := m.add(batch.Keys, batch.Changes); err != nil {
			if taken, ok := errors.AsType[*keys.NameTakenError](err); ok {
				taken.Index = len(m.keys) - len(before) + slices.IndexFunc(batch.Keys, func(key keys.Key) bool { return key.ID == taken.Key })
			}
			return undo(err)
		}
	}
	if err := ctx.Err(); err != nil || dry {
		return undo(err)
	}
	return nil
}

func (m *memory) add(list []keys.Key, changes []audit.Change) error {
	next := slices.Clone(m.keys)
	for _, key := range list {
		if slices.ContainsFunc(next, func(o keys.Key) bool { return o.ID == key.ID || share(o.Secrets, key.Secrets) }) {
			return keys.ErrExists
		}
		if err := nameTaken(next, key); err != nil {
			return err
		}
		next = append(next, key.Clone())
	}
	m.keys = next
	m.changed(changes, list...)
	return nil
}

func nameTaken(list []keys.Key, key keys.Key) error {
	for _, group := range key.Group.Each() {
		for _, o := range list {
			if key.RevokeTime == nil && o.ID != key.ID && o.Group.Has(group) && o.Name == key.Name && key.Name != "" && o.RevokeTime == nil {
				return &keys.NameTakenError{Key: key.ID, By: o.ID}
			}
		}
	}
	return nil
}

// share reports whether two keys have a secret in common.
func share(a, b []keys.Secret) bool {
	return slices.ContainsFunc(a, func(x keys.Secret) bool {
		return slices.ContainsFunc(b, func(y keys.Secret) bool { return x.Hash == y.Hash })
	})
}

func (m *memory) changed(changes []audit.Change, list ...keys.Key) {
	m.version++
	if m.noted == nil {
		m.noted = map[keys.Digest]int64{}
	}
	for _, key := range list {
		for _, secret := range key.Secrets {
			m.noted[secret.Hash] = m.version
		}
	}
	for _, change := range changes {
		var last *audit.Entry
		if len(m.entries) > 0 {
			last = m.entries[len(m.entries)-1]
		}
		m.entries = append(m.entries, audit.Append(last, change))
	}
}

func (m *memory) CreateFirst(ctx context.Context, list []keys.Key, changes []audit.Change) (bool, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if len(m.keys) > 0 {
		return false, nil
	}
	err = m.add(list, changes)
	return err == nil, err
}

func (m *memory) Update(ctx context.Context, id string, change func(*keys.Key) ([]audit.Change, error)) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	i := slices.IndexFunc(m.keys, func(key keys.Key) bool { return key.ID == id })
	if i < 0 {
		return keys.ErrNotFound
	}
	key := m.keys[i].Clone()
	changes, err := change(&key)
	if err != nil || len(changes) == 0 {
		return err
	}
	for o, other := range m.keys {
		if o != i && share(other.Secrets, key.Secrets) {
			return keys.ErrExists
		}
	}
	key.ID, key.Group, key.CreateTime = m.keys[i].ID, m.keys[i].Group, m.keys[i].CreateTime
	if key.Name != m.keys[i].Name {
		if err := nameTaken(m.keys, key); err != nil {
			return err
		}
	}
	before := m.keys[i]
	m.keys[i] = key.Clone()
	m.changed(changes, before, key)
	return nil
}

func (m *memory) Find(ctx context.Context, ref string) ([]keys.Key, error) {
	return m.where(ctx, func(key keys.Key) bool { return key.ID == ref || key.Name == ref })
}

func (m *memory) List(ctx context.Context, query keys.Query) ([]keys.Key, error) {
	all, err := m.where(ctx, func(keys.Key) bool { return true })
	if err != nil {
		return nil, err
	}
	if query.After != "" {
		i := slices.IndexFunc(all, func(key keys.Key) bool { return key.ID == query.After })
		if i < 0 {
			return nil, keys.ErrNotFound
		}
		all = all[i+1:]
	}
	all = slices.DeleteFunc(all, func(key keys.Key) bool {
		return query.Group != "" && !key.Group.Has(query.Group) || query.Owner != "" && key.Owner != query.Owner ||
			!query.LiveAt.IsZero() && (key.RevokeTime != nil || key.Expired(query.LiveAt))
	})
	return all[:min(len(all), query.Limit)], nil
}

func (m *memory) Changed(ctx context.Context, after keys.Position, limit int) ([]keys.Position, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	order := func(a, b keys.Position) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), bytes.Compare(a.Hash[:], b.Hash[:]))
	}
	var changed []keys.Position
	for hash, number := range m.noted {
		if p := (keys.Position{Number: number, Hash: hash}); order(p, after) > 0 {
			changed = append(changed, p)
		}
	}
	slices.SortFunc(changed, order)
	return changed[:min(len(changed), limit)], nil
}

func (m *memory) Holders(ctx context.Context, hashes []keys.Digest) ([]keys.Holder, error) {
	all, err := m.where(ctx, func(key keys.Key) bool {
		return slices.ContainsFunc(key.Secrets, func(s keys.Secret) bool { return slices.Contains(hashes, s.Hash) })
	})
	return holders(all), err
}

func (m *memory) Holding(ctx context.Context, after keys.Place, limit int) ([]keys.Holder, keys.Place, error) {
	all, err := m.where(ctx, func(key keys.Key) bool {
		return cmp.Or(key.CreateTime.Compare(after.CreateTime), cmp.Compare(key.ID, after.ID)) > 0
	})
	all = all[:min(len(all), limit)]
	if len(all) > 0 {
		last := all[len(all)-1]
		after = keys.Place{CreateTime: last.CreateTime, ID: last.ID}
	}
	return holders(all), after, err
}

func holders(list []keys.Key) []keys.Holder {
	var held []keys.Holder
	for _, key := range list {
		if key.RevokeTime != nil {
			continue
		}
		policy, err := json.Marshal(key.Policy)
		if err != nil {
			panic(err)
		}
		for _, secret := range key.Secrets {
			end := key.ExpireTime
			if secret.ExpireTime != nil && (end == nil || secret.ExpireTime.Before(*end)) {
				end = secret.ExpireTime
			}
			held = append(held, keys.Holder{Hash: secret.Hash, KeyID: key.ID, Group: key.Group, Name: key.Name, Owner: key.Owner, Policy: string(policy), End: end})
		}
	}
	return held
}

func (m *memory) where(ctx context.Context, match func(keys.Key) bool) ([]keys.Key, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []keys.Key
	for _, key := range m.keys {
		if match(key) {
			list = append(list, key.Clone())
		}
	}
	slices.SortFunc(list, func(a, b keys.Key) int {
		return cmp.Or(a.CreateTime.Compare(b.CreateTime), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func (m *memory) Version(ctx context.Context) (int64, error) {
	m.mu.Lock()
	m.versions++
	before := m.before
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return 0, err
		}
	}
	leave, err := m.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return m.version, nil
}

// asked is how often the version has been asked for.
func (m *memory) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.versions
}

// during has each call of Version run before first; nil for none.
func (m *memory) during(before func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

func (m *memory) Keys() keys.Store { return m }

func (m *memory) Audit() audit.Store { return m }

func (m *memory) Entries(ctx context.Context, query audit.Query) iter.Seq2[*audit.Entry, error] {
	return func(yield func(*audit.Entry, error) bool) {
		leave, err := m.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		entries := slices.Clone(m.entries)
		leave()
		if query.Newest {
			slices.Reverse(entries)
		}
		for _, e := range entries {
			if query.Matches(e) && !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
}

// A fake that passes the suite of the real ones is worth testing against.
func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Database {
		m := &memory{}
		return func(*testing.T) storetest.Keys {
			m.open()
			return m
		}
	})
}
