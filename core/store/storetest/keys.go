//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	create(t, one, key(0))
	moved("create")
	if diff := cmp.Diff(held(t, key(0)), live(t, other)); diff != "" {
		t.Errorf("the other handle (-want +got):\n%s", diff)
	}
	if err := revoke(t.Context(), one, key(0).ID); err != nil {
		t.Fatal(err)
	}
	moved("revoke")
	if got := live(t, other); len(got) != 0 {
		t.Errorf("after the revocation the other handle has %v", got)
	}
}

func testReopen(t *testing.T, database Database) {
	s := database(t)
	create(t, s.Keys(), full(0))
	before, head := version(t, s.Keys()), verified(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := database(t)
	if diff := cmp.Diff([]keys.Key{full(0)}, list(t, again.Keys()), prefixes()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if after := version(t, again.Keys()); after != before {
		t.Errorf("version went from %d to %d", before, after)
	}
	if after := verified(t, again); after != head {
		t.Errorf("the audit went from %+v to %+v", head, after)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

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

// batches yields each list as a part of an import, with an entry for each key.
func batches(lists ...[]keys.Key) iter.Seq2[keys.Batch, error] {
	return func(yield func(keys.Batch, error) bool) {
		for _, list := range lists {
			batch := keys.Batch{Keys: list}
			for _, key := range list {
				batch.Changes = append(batch.Changes, audit.Change{Time: key.CreateTime, Action: "key.import", Subject: key.ID, Detail: "{}"})
			}
			if !yield(batch, nil) {
				return
			}
		}
	}
}

// broken yields what lists do, then an error.
func broken(err error, lists ...[]keys.Key) iter.Seq2[keys.Batch, error] {
	return func(yield func(keys.Batch, error) bool) {
		for batch, none := range batches(lists...) {
			if !yield(batch, none) {
				return
			}
		}
		yield(keys.Batch{}, err)
	}
}

func testImport(t *testing.T, database Database) {
	handle := opened(t, database)
	s := handle.Keys()
	if err := s.Import(t.Context(), batches(), false); err != nil {
		t.Errorf("nothing: %v", err)
	}
	want := []keys.Key{key(0), key(1), key(2), key(3), key(4)}
	for _, dry := range []bool{true, false} {
		if err := s.Import(t.Context(), batches(want[:2], nil, want[2:]), dry); err != nil {
			t.Fatalf("dry %t: %v", dry, err)
		}
		if n := len(list(t, s)); dry && n != 0 {
			t.Errorf("a dry run made %d keys", n)
		}
	}
	if diff := cmp.Diff(want, list(t, s), prefixes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if head := verified(t, handle); head.Number != int64(len(want)) {
		t.Errorf("%d entries", head.Number)
	}
}

// An import that fails leaves nothing behind, and reports its first error.
func testImportAllOrNone(t *testing.T, database Database) {
	handle := opened(t, database)
	s := handle.Keys()
	before := key(9)
	create(t, s, before)
	recorded := verified(t, handle)
	version, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := func(n int, of keys.Key) keys.Key {
		k := key(n)
		k.Group, k.Name = of.Group, of.Name
		return k
	}
	var many []keys.Key // more than one statement takes
	for n := range 600 {
		many = append(many, key(100+n))
	}
	failure := errors.New("a row at the end is wrong")
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // of one row of the table
		of     iter.Seq2[keys.Batch, error]
		is     error
		by     string // who has the name
		atName int
	}{
		"an error behind the last":    {t.Context(), broken(failure, many, []keys.Key{key(0)}), failure, "", 0},
		"a name of before":            {t.Context(), batches(many, []keys.Key{key(0), named(1, before)}), nil, before.ID, 601},
		"a name further ahead":        {t.Context(), batches([]keys.Key{key(0)}, many, []keys.Key{named(1, key(0))}), nil, key(0).ID, 601},
		"a name twice in one part":    {t.Context(), batches([]keys.Key{key(0), named(1, key(0))}), nil, key(0).ID, 1},
		"a name in a later statement": {t.Context(), batches(append(slices.Clip(many), named(0, before))), nil, before.ID, 600},
		"an id twice":                 {t.Context(), batches(many, many[:1]), keys.ErrExists, "", 0},
		"its caller disconnects in the middle": {ended, func(yield func(keys.Batch, error) bool) {
			for batch, err := range batches(many, []keys.Key{key(0)}) {
				if !yield(batch, err) {
					return
				}
				cancel()
			}
		}, context.Canceled, "", 0},
	} {
		err := s.Import(c.ctx, c.of, false)
		taken, _ := errors.AsType[*keys.NameTakenError](err)
		switch {
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: %v", name, err)
		case c.is == nil && (taken == nil || taken.By != c.by || taken.Index != c.atName):
			t.Errorf("%s: %v, %+v", name, err, taken)
		}
		if diff := cmp.Diff([]keys.Key{before}, list(t, s), prefixes()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	if head := verified(t, handle); head != recorded {
		t.Errorf("the audit has %d entries, and had %d", head.Number, recorded.Number)
	}
	if now, err := s.Version(t.Context()); err != nil || now != version {
		t.Errorf("version %d, then %d, %v", version, now, err)
	}
}

// Of several imports of the same names at once, each through a handle of its own, one is made.
func testImportConcurrently(t *testing.T, database Database) {
	const imports, size = 4, 300
	var wait sync.WaitGroup
	errs := make([]error, imports)
	for n := range imports {
		s := open(t, database)
		var some []keys.Key
		for i := range size {
			k := key(n*size + i)
			k.Group, k.Name = keys.GroupChat, strconv.Itoa(i)
			some = append(some, k)
		}
		wait.Go(func() { errs[n] = s.Import(t.Context(), batches(some[:size/2], some[size/2:]), false) })
	}
	wait.Wait()
	made := 0
	for n, err := range errs {
		taken, _ := errors.AsType[*keys.NameTakenError](err)
		switch {
		case err == nil:
			made++
		case taken == nil || taken.Index != 0:
			t.Errorf("import %d: %v", n, err)
		}
	}
	if got := len(list(t, open(t, database))); made != 1 || got != size {
		t.Errorf("%d imports were made, and %d keys", made, got)
	}
}

// named is the n-th key of the suite in a group, with a name.
func named(n int, group keys.Group, name string) keys.Key {
	k := key(n)
	k.Group, k.Name = group, name
	return k
}

func testNames(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, named(0, keys.GroupChat, "ci"), named(1, keys.GroupMessages, "ci"), named(2, keys.GroupChat, ""), named(3, keys.GroupChat, ""), named(4, keys.GroupChat, "other"))
	want := list(t, s)
	taken := func(what string, err error, of, by int) {
		t.Helper()
		e, ok := errors.AsType[*keys.NameTakenError](err)
		if !ok || e.Key != key(of).ID || e.By != key(by).ID {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, list(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	add := func(list ...keys.Key) error {
		return s.Create(t.Context(), list, []audit.Change{changed("key.create", "a")})
	}
	rename := func(n int, name string) error {
		return update(t.Context(), s, key(n).ID, func(k *keys.Key) { k.Name = name })
	}
	taken("one", add(named(5, keys.GroupChat, "ci")), 5, 0)
	taken("one of two", add(named(5, keys.GroupChat, "free"), named(6, keys.GroupMessages, "ci")), 6, 1)
	taken("both alike", add(named(5, keys.GroupChat, "twice"), named(6, keys.GroupChat, "twice")), 6, 5)
	taken("renamed", rename(4, "ci"), 4, 0)
	for i, free := range []error{
		add(named(5, keys.GroupInternal, "ci")), add(named(6, keys.GroupChat, "CI")), rename(4, "other"), rename(4, ""), rename(4, "new"),
		revoke(t.Context(), s, key(0).ID), add(named(7, keys.GroupChat, "ci")), rename(2, "other"),
		add(named(8, "messages,generatecontent", "CI"), named(9, "chat,messages", "both")),
	} {
		if free != nil {
			t.Errorf("%d: %v", i, free)
		}
	}
	// A key of several groups has its name in each of them.
	want = list(t, s)
	taken("of several, as one has it", add(named(10, "messages,generatecontent", "ci")), 10, 1)
	taken("of one, as several have it", add(named(10, keys.GroupGenerateContent, "CI")), 10, 8)
	taken("of several, as others have it", add(named(10, "chat,messages,generatecontent", "both")), 10, 9)
	taken("several alike in one group", add(named(10, "chat,generatecontent", "new name"), named(11, "messages,generatecontent", "new name")), 11, 10)
	taken("several renamed", rename(9, "ci"), 9, 7)
	if err := rename(9, "free"); err != nil {
		t.Error(err)
	}
}

func testNamesConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database)}
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for n := range errs {
		wait.Go(func() {
			errs[n] = handles[n%2].Create(t.Context(), []keys.Key{named(n, keys.GroupChat, "ci")}, []audit.Change{changed("key.create", key(n).ID)})
		})
	}
	wait.Wait()
	made := 0
	for n, err := range errs {
		if _, taken := errors.AsType[*keys.NameTakenError](err); err == nil {
			made++
		} else if !taken {
			t.Errorf("caller %d: %v", n, err)
		}
	}
	if got := list(t, handles[0]); made != 1 || len(got) != 1 {
		t.Errorf("%d calls reported success; there are %d", made, len(got))
	}
}
