// Package storetest is the test suite that every kind of database of core/store passes. A test
// calls Run with a way to make empty databases; the suite opens each as often as it
// needs, the way several processes do.
//
// It speaks to a database through its interfaces alone and must not know its kind.
package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

// Keys is a handle on a database that keeps keys and the record of their changes;
// a *store.Store is one.
type Keys interface {
	Keys() keys.Store
	Audit() audit.Store
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
		{"several keys are made all or none", testCreateAllOrNone},
		{"a name is taken once in its group", testNames},
		{"a name is taken once by many at once", testNamesConcurrently},
		{"keys are listed by age", testListOrder},
		{"a key is found by id and by name", testFind},
		{"a changed key is as it was changed, but for what never changes", testUpdate},
		{"a change that fails or records nothing changes nothing", testUpdateNothing},
		{"a change cannot take another key's secret", testUpdateExisting},
		{"a revoked key is listed and not live", testRevoke},
		{"an unknown key cannot be changed", testUpdateUnknown},
		{"changes of one key come one after the other", testUpdateConcurrently},
		{"keys are listed by pages", testPages},
		{"an import is made as it is read", testImport},
		{"an import is made all or none", testImportAllOrNone},
		{"of imports of the same names at once one is made", testImportConcurrently},
		{"who holds a secret is looked up", testHolders},
		{"changes are reported in their order", testChanged},
		{"who follows the changes misses none", testFollow},
		{"many keys are made at once", testCreateMany},
		{"the version moves with every change and only then", testVersion},
		{"another handle sees each change at once", testTwoHandles},
		{"the first keys are made once", testCreateFirst},
		{"the first keys are made all or none", testCreateFirstAllOrNone},
		{"the first keys are made once by many at once", testCreateFirstConcurrently},
		{"many create at once", testCreateConcurrently},
		{"the audit tells each change, chained", testAudit},
		{"the audit is queried", testAuditQuery},
		{"a change that fails is not recorded", testAuditOfFailures},
		{"many record at once, in one chain", testAuditConcurrently},
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

// key is the n-th key of the suite, made n seconds after epoch.
func key(n int) keys.Key {
	id := fmt.Sprintf("key_%012d", n)
	created := epoch().Add(time.Duration(n) * time.Second)
	return keys.Key{
		ID:         id,
		Group:      keys.Groups()[n%len(keys.Groups())],
		Settings:   keys.Settings{Name: fmt.Sprintf("name %d", n)},
		CreateTime: created,
		Secrets:    []keys.Secret{{Hash: sha256.Sum256([]byte(id)), CreateTime: created}},
	}
}

// changed is what the suite records of a change of that key.
func changed(action, id string) audit.Change {
	return audit.Change{
		Time: epoch(), Actor: `user:Ünïcode "quoted" 'single' %s; -- ?`, Action: action, Subject: id, Detail: `{"a":"b"}`,
	}
}

func create(t *testing.T, s keys.Store, list ...keys.Key) {
	t.Helper()
	for _, k := range list {
		if err := s.Create(t.Context(), []keys.Key{k}, []audit.Change{changed("key.create", k.ID)}); err != nil {
			t.Fatalf("create %s: %v", k.ID, err)
		}
	}
}

// update is Store.Update with one entry.
func update(ctx context.Context, s keys.Store, id string, change func(*keys.Key)) error {
	return s.Update(ctx, id, func(k *keys.Key) ([]audit.Change, error) {
		change(k)
		return []audit.Change{changed("key.update", id)}, nil
	})
}

// revoke revokes a key at epoch.
func revoke(ctx context.Context, s keys.Store, id string) error {
	return update(ctx, s, id, func(k *keys.Key) {
		at := epoch()
		k.RevokeTime = &at
	})
}

// prefixes compares addresses.
func prefixes() cmp.Option {
	return cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
}

func list(t *testing.T, s keys.Store) []keys.Key {
	t.Helper()
	all, err := s.List(t.Context(), keys.Query{Limit: 1000})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return all
}

// live are the holders of all secrets of keys that are not revoked.
func live(t *testing.T, s keys.Store) map[keys.Digest]keys.Holder {
	t.Helper()
	held := map[keys.Digest]keys.Holder{}
	for place := (keys.Place{}); ; {
		page, last, err := s.Holding(t.Context(), place, 7)
		if err != nil {
			t.Fatalf("holding: %v", err)
		}
		for _, h := range page {
			held[h.Hash] = h
		}
		if last == place {
			return held
		}
		place = last
	}
}

// held are the holders that a key makes.
func held(t *testing.T, list ...keys.Key) map[keys.Digest]keys.Holder {
	t.Helper()
	all := map[keys.Digest]keys.Holder{}
	for _, k := range list {
		policy, err := json.Marshal(k.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range k.Secrets {
			end := k.ExpireTime
			if secret.ExpireTime != nil && (end == nil || secret.ExpireTime.Before(*end)) {
				end = secret.ExpireTime
			}
			all[secret.Hash] = keys.Holder{Hash: secret.Hash, KeyID: k.ID, Group: k.Group, Name: k.Name, Owner: k.Owner, Policy: string(policy), End: end}
		}
	}
	return all
}

func version(t *testing.T, s keys.Store) int64 {
	t.Helper()
	v, err := s.Version(t.Context())
	if err != nil {
		t.Fatalf("version: %v", err)
	}
	return v
}
