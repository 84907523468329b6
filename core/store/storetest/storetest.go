// Package storetest is what every kind of database of core/store must pass. A test
// calls Run with a way to make empty databases; the suite opens each as often as it
// needs, the way several processes do.
//
// It speaks to a database through its interfaces alone and must not know its kind.
package storetest

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
)

// Keys is a handle on a database that keeps keys; every store.Store is one.
type Keys interface {
	Keys() keys.Store
	Close() error
}

// A Database opens one more handle on one and the same database. The suite closes
// the handles.
type Database func(t *testing.T) Keys

// Run runs the suite of keys. fresh makes an empty database, which may live as long as its t.
func Run(t *testing.T, fresh func(t *testing.T) Database) {
	t.Helper()
	tests := []struct {
		name string
		test func(*testing.T, Database)
	}{
		{"a created key is listed and live as it was given", testCreate},
		{"an id or a hash that is taken is refused", testCreateExisting},
		{"keys are listed by age", testListOrder},
		{"a revoked key is listed and not live", testRevoke},
		{"the first time of a revocation stays", testRevokeTwice},
		{"an unknown key cannot be revoked", testRevokeUnknown},
		{"the version moves with every change and only then", testVersion},
		{"another handle sees each change at once", testTwoHandles},
		{"the first keys are made once", testCreateFirst},
		{"the first keys are made all or none", testCreateFirstAllOrNone},
		{"the first keys are made once by many at once", testCreateFirstConcurrently},
		{"many create at once", testCreateConcurrently},
		{"everything outlives its handle", testReopen},
		{"an ended context and a closed store are errors", testErrors},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(t, fresh(t))
		})
	}
}

// open opens a handle that the test's end closes.
func open(t *testing.T, database Database) keys.Store {
	t.Helper()
	s := database(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s.Keys()
}

// epoch is when the suite's first key was made.
func epoch() time.Time {
	return time.Date(2026, 2, 28, 23, 59, 59, 123456000, time.UTC)
}

// credential is the n-th key of the suite, made n seconds after epoch.
func credential(n int) keys.Credential {
	id := fmt.Sprintf("key_%012d", n)
	return keys.Credential{
		Key: keys.Key{
			ID:         id,
			Group:      keys.Groups()[n%len(keys.Groups())],
			Name:       fmt.Sprintf("name %d", n),
			CreateTime: epoch().Add(time.Duration(n) * time.Second),
		},
		Hash: sha256.Sum256([]byte(id)),
	}
}

func create(t *testing.T, s keys.Store, credentials ...keys.Credential) {
	t.Helper()
	for _, c := range credentials {
		if err := s.Create(t.Context(), c.Key, c.Hash); err != nil {
			t.Fatalf("create %s: %v", c.Key.ID, err)
		}
	}
}

func list(t *testing.T, s keys.Store) []keys.Key {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return all
}

func live(t *testing.T, s keys.Store) map[string][sha256.Size]byte {
	t.Helper()
	credentials, err := s.Live(t.Context())
	if err != nil {
		t.Fatalf("live: %v", err)
	}
	hashes := make(map[string][sha256.Size]byte, len(credentials))
	for _, c := range credentials {
		hashes[c.Key.ID] = c.Hash
	}
	return hashes
}

func version(t *testing.T, s keys.Store) int64 {
	t.Helper()
	v, err := s.Version(t.Context())
	if err != nil {
		t.Fatalf("version: %v", err)
	}
	return v
}
