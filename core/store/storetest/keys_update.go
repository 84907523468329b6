//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/google/go-cmp/cmp"
)

func testUpdate(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), key(1))
	n := 0
	for name, change := range shapes() {
		n++
		want := key(0)
		change(&want)
		want.Secrets[0].Hash = sha256.Sum256([]byte(name))
		err := update(t.Context(), s, key(0).ID, func(k *keys.Key) {
			if k.ID != key(0).ID || len(k.Secrets) == 0 {
				t.Errorf("%s: got %+v to change", name, k)
			}
			*k = want.Clone()
			k.ID, k.Group, k.CreateTime = "another", "another", epoch().Add(time.Hour)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]keys.Key{want, key(1)}, list(t, s), prefixes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testUpdateNothing(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0))
	before := version(t, s)
	refused := errors.New("refused")
	for _, want := range []error{nil, refused} {
		err := s.Update(t.Context(), key(0).ID, func(k *keys.Key) ([]audit.Change, error) {
			k.Owner = "changed"
			if want != nil {
				return []audit.Change{changed("key.update", k.ID)}, want
			}
			return nil, nil
		})
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if diff := cmp.Diff([]keys.Key{key(0)}, list(t, s)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", want, diff)
		}
	}
	if after := version(t, s); after != before {
		t.Errorf("version went from %d to %d", before, after)
	}
}

func testUpdateExisting(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), key(1))
	err := update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets = key(1).Secrets })
	if !errors.Is(err, keys.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if diff := cmp.Diff([]keys.Key{key(0), key(1)}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testRevoke(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), key(1))
	if err := revoke(t.Context(), s, key(0).ID); err != nil {
		t.Fatal(err)
	}
	at := epoch()
	revoked := key(0)
	revoked.RevokeTime = &at
	if diff := cmp.Diff([]keys.Key{revoked, key(1)}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(held(t, key(1)), live(t, s)); diff != "" {
		t.Errorf("live, want the other key alone (-want +got):\n%s", diff)
	}
}

func testUpdateUnknown(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0))
	for _, id := range []string{"", key(1).ID, key(0).Name} {
		if err := revoke(t.Context(), s, id); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("update %q: got %v, want ErrNotFound", id, err)
		}
	}
}

func testVersion(t *testing.T, database Database) {
	s := open(t, database)
	if v := version(t, s); v < 0 {
		t.Errorf("version %d is negative", v)
	}
	seen := map[int64]string{version(t, s): "empty"}
	steps := []struct {
		name    string
		do      func() error
		changes bool
	}{
		{"create", func() error { return s.Create(t.Context(), []keys.Key{key(0)}, nil) }, true},
		{"list", func() error { _, err := s.List(t.Context(), keys.Query{Limit: 1}); return err }, false},
		{"holding", func() error { _, _, err := s.Holding(t.Context(), keys.Place{}, 1); return err }, false},
		{"find", func() error { _, err := s.Find(t.Context(), key(0).ID); return err }, false},
		{"create another", func() error { return s.Create(t.Context(), []keys.Key{key(1)}, nil) }, true},
		{"settings", func() error { return update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Owner = "o" }) }, true},
		{"secrets", func() error {
			return update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets[0].Hash[0]++ })
		}, true},
		{"a second secret", func() error {
			return update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets = full(0).Secrets })
		}, true},
		{"one secret", func() error {
			return update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets = k.Secrets[:1] })
		}, true},
		{"revoke", func() error { return revoke(t.Context(), s, key(0).ID) }, true},
		{"not first", func() error { _, err := s.CreateFirst(t.Context(), []keys.Key{key(2)}, nil); return err }, false},
	}
	for _, step := range steps {
		before := version(t, s)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		after := version(t, s)
		if !step.changes {
			if after != before {
				t.Errorf("%s: version went from %d to %d", step.name, before, after)
			}
			continue
		}
		if earlier, ok := seen[after]; ok || after < before {
			t.Errorf("%s: version %d, is that of %s or smaller than before", step.name, after, earlier)
		}
		seen[after] = step.name
	}
}
