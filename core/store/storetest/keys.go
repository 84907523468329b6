//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// full returns a key each member of which is set.
func full(n int) keys.Key {
	k := key(n)
	expire, revoke, end := epoch().Add(time.Hour), epoch().Add(time.Minute), epoch().Add(time.Second)
	k.Settings = keys.Settings{
		Name: `Ünïcode 鍵 🔑 "quoted" 'single' %s; -- ?`, Owner: `Ünïcode "team"`,
		Labels: map[string]string{"env": "prod", "a.b/c": `{"x":'y'}`, "empty": ""}, ExpireTime: &expire,
		Policy: keys.Policy{
			Models:    []string{"gpt-*", "Ünïcode"},
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")},
			Limits: limit.Limits{
				RequestsPerMinute: 1, TokensPerMinute: 1_000_000_000, Concurrent: 3,
				Budgets: []limit.Budget{{Amount: 1, Period: limit.Day}, {Amount: 1e18, Period: limit.Month}},
			},
			Strict: true,
		},
	}
	k.RevokeTime = &revoke
	k.Secrets = append(k.Secrets, keys.Secret{Hash: sha256.Sum256([]byte(k.ID + "old")), CreateTime: epoch().Add(-time.Hour), ExpireTime: &end})
	return k
}

// shapes are what keys look like.
func shapes() map[string]func(*keys.Key) {
	whole := full(0)
	return map[string]func(*keys.Key){
		"plain":     func(*keys.Key) {},
		"no name":   func(k *keys.Key) { k.Name = "" },
		"name":      func(k *keys.Key) { k.Name = whole.Name },
		"owner":     func(k *keys.Key) { k.Owner = whole.Owner },
		"labels":    func(k *keys.Key) { k.Labels = whole.Labels },
		"models":    func(k *keys.Key) { k.Policy.Models = whole.Policy.Models },
		"addresses": func(k *keys.Key) { k.Policy.Addresses = whole.Policy.Addresses },
		"limits":    func(k *keys.Key) { k.Policy.Limits = whole.Policy.Limits },
		"strict":    func(k *keys.Key) { k.Policy.Strict = true },
		"read only": func(k *keys.Key) { k.Policy.ReadOnly = true },
		"captures":  func(k *keys.Key) { k.Policy.ReadCaptures = true },
		"captured": func(k *keys.Key) {
			k.Policy.Capture = &capture.Rule{Share: 0.125, MaxBytes: 7, Redact: []string{"/a/*", "content"}, Until: epoch().Add(time.Hour)}
		},
		"expiring":    func(k *keys.Key) { k.ExpireTime = whole.ExpireTime },
		"revoked":     func(k *keys.Key) { k.RevokeTime = whole.RevokeTime },
		"all times":   func(k *keys.Key) { k.ExpireTime, k.RevokeTime = whole.ExpireTime, whole.RevokeTime },
		"two secrets": func(k *keys.Key) { k.Secrets = append(k.Secrets, full(int(k.Secrets[0].Hash[0]) + 100).Secrets[1]) },
	}
}

func testCreate(t *testing.T, database Database) {
	s := open(t, database)
	var want []keys.Key
	add := func(name string, k keys.Key) {
		t.Helper()
		create(t, s, k)
		want = append(want, k)
		got := live(t, s)
		maps.DeleteFunc(got, func(_ keys.Digest, h keys.Holder) bool { return h.KeyID != k.ID })
		holders := held(t, k)
		if k.RevokeTime != nil {
			clear(holders)
		}
		if diff := cmp.Diff(holders, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: live (-want +got):\n%s", name, diff)
		}
	}
	for name, change := range shapes() {
		k := key(len(want))
		change(&k)
		add(name, k)
	}
	add("full", full(len(want)))
	foreign := key(len(want))
	foreign.Group = "a group of a later release"
	add("foreign", foreign)
	if diff := cmp.Diff(want, list(t, s), prefixes()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testCreateExisting(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), full(5))
	sameID, sameHash, sameOld := key(1), key(1), key(1)
	sameID.ID = key(0).ID
	sameHash.Secrets = key(0).Secrets
	sameOld.Secrets[0].Hash = full(5).Secrets[1].Hash
	for name, k := range map[string]keys.Key{"id": sameID, "hash": sameHash, "older hash": sameOld, "both": key(0)} {
		if err := s.Create(t.Context(), []keys.Key{k}, nil); !errors.Is(err, keys.ErrExists) {
			t.Errorf("same %s: got %v, want ErrExists", name, err)
		}
	}
	if diff := cmp.Diff([]keys.Key{key(0), full(5)}, list(t, s), prefixes()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testCreateAllOrNone(t *testing.T, database Database) {
	s := open(t, database)
	if err := s.Create(t.Context(), []keys.Key{key(0), key(1), key(0)}, nil); !errors.Is(err, keys.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("it created %v", got)
	}
	if err := s.Create(t.Context(), []keys.Key{key(0), key(1)}, nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]keys.Key{key(0), key(1)}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testListOrder(t *testing.T, database Database) {
	s := open(t, database)
	if got := list(t, s); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	twin := key(1)
	twin.CreateTime = key(0).CreateTime
	create(t, s, key(2), twin, key(0))
	if diff := cmp.Diff([]keys.Key{key(0), twin, key(2)}, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testFind(t *testing.T, database Database) {
	s := open(t, database)
	twin, unnamed := key(2), key(3)
	twin.Name, unnamed.Name = key(1).Name, ""
	create(t, s, key(0), key(1), twin, unnamed)
	for ref, want := range map[string][]keys.Key{
		key(0).ID:                  {key(0)},
		key(0).Name:                {key(0)},
		key(1).Name:                {key(1), twin},
		"":                         {unnamed},
		"NAME 0":                   nil,
		"name%":                    nil,
		"key_000000000009":         nil,
		"' OR 1 = 1 --":            nil,
		"key_00000000000" + "\x00": nil,
	} {
		got, err := s.Find(t.Context(), ref)
		if diff := cmp.Diff(want, got); diff != "" || (err != nil && len(want) > 0) {
			t.Errorf("%q (-want +got): %v\n%s", ref, err, diff)
		}
	}
}

func testErrors(t *testing.T, database Database) {
	ended, end := context.WithCancel(t.Context())
	end()
	s := database(t)
	t.Run("ended context", func(t *testing.T) { allFail(ended, t, s) })
	if got := list(t, s.Keys()); len(got) != 0 {
		t.Errorf("it still created %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("closed store", func(t *testing.T) { allFail(t.Context(), t, s) })
}

// allFail demands that each method fails and says so in another way than by the
// sentinels, which are answers.
func allFail(ctx context.Context, t *testing.T, handle Keys) {
	t.Helper()
	s := handle.Keys()
	errs := map[string]error{
		"create": s.Create(ctx, []keys.Key{key(0)}, nil),
		"update": revoke(ctx, s, key(0).ID),
	}
	_, errs["create first"] = s.CreateFirst(ctx, []keys.Key{key(0)}, nil)
	_, errs["find"] = s.Find(ctx, key(0).ID)
	_, errs["list"] = s.List(ctx, keys.Query{Limit: 1})
	errs["import"] = s.Import(ctx, batches([]keys.Key{key(0)}), false)
	_, errs["changed"] = s.Changed(ctx, keys.Position{}, 1)
	_, errs["holders"] = s.Holders(ctx, []keys.Digest{{}})
	_, _, errs["holding"] = s.Holding(ctx, keys.Place{}, 1)
	_, errs["version"] = s.Version(ctx)
	for _, err := range handle.Audit().Entries(ctx, audit.Query{}) {
		errs["audit"] = err
	}
	if _, ok := errs["audit"]; !ok {
		t.Error("audit: no error")
	}
	for name, err := range errs {
		if err == nil || errors.Is(err, keys.ErrNotFound) || errors.Is(err, keys.ErrExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
