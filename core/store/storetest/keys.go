//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

func testCreate(t *testing.T, database Database) {
	expire, revoke := epoch().Add(time.Hour), epoch().Add(time.Minute)
	tests := map[string]func(*keys.Key){
		"plain":     func(*keys.Key) {},
		"no name":   func(k *keys.Key) { k.Name = "" },
		"any name":  func(k *keys.Key) { k.Name = `Ünïcode 鍵 🔑 "quoted" 'single' %s; -- ?` },
		"expiring":  func(k *keys.Key) { k.ExpireTime = &expire },
		"revoked":   func(k *keys.Key) { k.RevokeTime = &revoke },
		"all times": func(k *keys.Key) { k.ExpireTime, k.RevokeTime = &expire, &revoke },
		"foreign":   func(k *keys.Key) { k.Group = "a group of a later release" },
	}
	s := open(t, database)
	var want []keys.Key
	n := 0
	for name, change := range tests {
		c := credential(n)
		n++
		change(&c.Key)
		create(t, s, c)
		want = append(want, c.Key)
		hash, isLive := live(t, s)[c.Key.ID]
		if isLive != (c.Key.RevokeTime == nil) {
			t.Errorf("%s: live is %t", name, isLive)
		}
		if isLive && hash != c.Hash {
			t.Errorf("%s: got hash %x, want %x", name, hash, c.Hash)
		}
	}
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	credentials, err := s.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range credentials {
		for _, k := range want {
			if k.ID != c.Key.ID {
				continue
			}
			if diff := cmp.Diff(k, c.Key); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
		}
	}
}

func testCreateExisting(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, credential(0))
	sameID, sameHash := credential(1), credential(1)
	sameID.Key.ID = credential(0).Key.ID
	sameHash.Hash = credential(0).Hash
	for name, c := range map[string]keys.Credential{"id": sameID, "hash": sameHash, "both": credential(0)} {
		if err := s.Create(t.Context(), c.Key, c.Hash); !errors.Is(err, keys.ErrExists) {
			t.Errorf("same %s: got %v, want ErrExists", name, err)
		}
	}
	if diff := cmp.Diff([]keys.Key{credential(0).Key}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testListOrder(t *testing.T, database Database) {
	s := open(t, database)
	if got := list(t, s); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	create(t, s, credential(2), credential(0), credential(1))
	want := []keys.Key{credential(0).Key, credential(1).Key, credential(2).Key}
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testRevoke(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, credential(0), credential(1))
	at := epoch().Add(time.Hour)
	if err := s.Revoke(t.Context(), credential(0).Key.ID, at); err != nil {
		t.Fatal(err)
	}
	revoked := credential(0).Key
	revoked.RevokeTime = &at
	if diff := cmp.Diff([]keys.Key{revoked, credential(1).Key}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	got := live(t, s)
	if _, ok := got[credential(1).Key.ID]; len(got) != 1 || !ok {
		t.Errorf("live is %v, want the other key alone", got)
	}
}

func testRevokeTwice(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, credential(0))
	first := epoch().Add(time.Hour)
	for _, at := range []time.Time{first, first.Add(time.Hour)} {
		if err := s.Revoke(t.Context(), credential(0).Key.ID, at); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, s)[0].RevokeTime; got == nil || !got.Equal(first) {
		t.Errorf("revoked at %v, want %v", got, first)
	}
}

func testRevokeUnknown(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, credential(0))
	for _, id := range []string{"", credential(1).Key.ID, credential(0).Key.Name} {
		if err := s.Revoke(t.Context(), id, epoch()); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("revoke %q: got %v, want ErrNotFound", id, err)
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
		{"create", func() error { return s.Create(t.Context(), credential(0).Key, credential(0).Hash) }, true},
		{"list", func() error { _, err := s.List(t.Context()); return err }, false},
		{"live", func() error { _, err := s.Live(t.Context()); return err }, false},
		{"create another", func() error { return s.Create(t.Context(), credential(1).Key, credential(1).Hash) }, true},
		{"revoke", func() error { return s.Revoke(t.Context(), credential(0).Key.ID, epoch()) }, true},
		{"not first", func() error { _, err := s.CreateFirst(t.Context(), []keys.Credential{credential(2)}); return err }, false},
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
		if earlier, ok := seen[after]; ok {
			t.Errorf("%s: version %d is that of %s", step.name, after, earlier)
		}
		seen[after] = step.name
	}
}

func testTwoHandles(t *testing.T, database Database) {
	one, other := open(t, database), open(t, database)
	versions := []int64{version(t, other)}
	moved := func(what string) {
		t.Helper()
		v := version(t, other)
		if v == versions[len(versions)-1] {
			t.Errorf("%s: the other handle still has version %d", what, v)
		}
		versions = append(versions, v)
	}
	create(t, one, credential(0))
	moved("create")
	if got := live(t, other); got[credential(0).Key.ID] != credential(0).Hash {
		t.Errorf("the other handle has %v", got)
	}
	if err := one.Revoke(t.Context(), credential(0).Key.ID, epoch()); err != nil {
		t.Fatal(err)
	}
	moved("revoke")
	if got := live(t, other); len(got) != 0 {
		t.Errorf("after the revocation the other handle has %v", got)
	}
}

func testReopen(t *testing.T, database Database) {
	s := database(t)
	create(t, s.Keys(), credential(0))
	before := version(t, s.Keys())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, database)
	if diff := cmp.Diff([]keys.Key{credential(0).Key}, list(t, again)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if after := version(t, again); after != before {
		t.Errorf("version went from %d to %d", before, after)
	}
}

func testErrors(t *testing.T, database Database) {
	ended, end := context.WithCancel(t.Context())
	end()
	s := database(t)
	t.Run("ended context", func(t *testing.T) { allFail(ended, t, s.Keys()) })
	if got := list(t, s.Keys()); len(got) != 0 {
		t.Errorf("it still created %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("closed store", func(t *testing.T) { allFail(t.Context(), t, s.Keys()) })
}

// allFail demands that each method fails and says so in another way than by the
// sentinels, which are answers.
func allFail(ctx context.Context, t *testing.T, s keys.Store) {
	t.Helper()
	c := credential(0)
	errs := map[string]error{
		"create": s.Create(ctx, c.Key, c.Hash),
		"revoke": s.Revoke(ctx, c.Key.ID, epoch()),
	}
	_, errs["create first"] = s.CreateFirst(ctx, []keys.Credential{c})
	_, errs["list"] = s.List(ctx)
	_, errs["live"] = s.Live(ctx)
	_, errs["version"] = s.Version(ctx)
	for name, err := range errs {
		if err == nil || errors.Is(err, keys.ErrNotFound) || errors.Is(err, keys.ErrExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
