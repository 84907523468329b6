package keys_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store/storetest"
)

// memory is a store whose answers a test can watch, hold up and make fail.
type memory struct {
	mu          sync.Mutex
	credentials []keys.Credential
	version     int64
	closed      bool

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

func (m *memory) Create(ctx context.Context, key keys.Key, hash [sha256.Size]byte) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return m.add(keys.Credential{Key: key, Hash: hash})
}

func (m *memory) add(c keys.Credential) error {
	if slices.ContainsFunc(m.credentials, func(o keys.Credential) bool { return o.Key.ID == c.Key.ID || o.Hash == c.Hash }) {
		return keys.ErrExists
	}
	m.credentials = append(m.credentials, c)
	m.version++
	return nil
}

func (m *memory) CreateFirst(ctx context.Context, credentials []keys.Credential) (bool, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if len(m.credentials) > 0 {
		return false, nil
	}
	for _, c := range credentials {
		if err := m.add(c); err != nil {
			m.credentials = nil
			return false, err
		}
	}
	return true, nil
}

func (m *memory) List(ctx context.Context) ([]keys.Key, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []keys.Key
	for _, c := range m.credentials {
		list = append(list, c.Key)
	}
	slices.SortFunc(list, func(a, b keys.Key) int {
		return cmp.Or(a.CreateTime.Compare(b.CreateTime), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func (m *memory) Live(ctx context.Context) ([]keys.Credential, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.DeleteFunc(slices.Clone(m.credentials), func(c keys.Credential) bool { return c.Key.RevokeTime != nil }), nil
}

func (m *memory) Revoke(ctx context.Context, id string, at time.Time) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for i := range m.credentials {
		key := &m.credentials[i].Key
		if key.ID != id {
			continue
		}
		if key.RevokeTime == nil {
			key.RevokeTime = &at
			m.version++
		}
		return nil
	}
	return keys.ErrNotFound
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

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// A fake that passes the suite of the real ones is worth testing against.
func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Database {
		m := &memory{}
		return func(*testing.T) storetest.Keys {
			m.closed = false // opened again; the suite does so from one goroutine
			return m
		}
	})
}
