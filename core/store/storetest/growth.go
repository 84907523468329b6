//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

func testPages(t *testing.T, database Database) {
	s := open(t, database)
	var all []keys.Key
	for n := range 23 {
		k := key(n)
		k.CreateTime = epoch().Add(time.Duration(n/5) * time.Second) // some at once
		k.Owner = []string{"", "ada", "bob"}[n%3]
		end := epoch().Add(time.Duration(n) * time.Minute)
		if n%2 == 0 {
			k.ExpireTime = &end
		}
		if n%7 == 0 {
			k.RevokeTime = &end
		}
		all = append(all, k)
	}
	create(t, s, all...)
	now := epoch().Add(10 * time.Minute) // the moment at which the key 10 ends
	for name, query := range map[string]keys.Query{
		"all": {}, "a group": {Group: keys.Groups()[1]}, "an owner": {Owner: "ada"}, "live": {LiveAt: now},
		"all at once": {Group: keys.Groups()[0], Owner: "bob", LiveAt: now},
	} {
		var want, got []keys.Key
		for _, k := range all {
			if (query.Group == "" || k.Group == query.Group) && (query.Owner == "" || k.Owner == query.Owner) &&
				(query.LiveAt.IsZero() || k.RevokeTime == nil && !k.Expired(now)) {
				want = append(want, k)
			}
		}
		for query.Limit = 4; ; {
			page, err := s.List(t.Context(), query)
			if err != nil || len(page) > 4 {
				t.Fatalf("%s: %d keys, %v", name, len(page), err)
			}
			got = append(got, page...)
			if len(page) < 4 {
				break
			}
			query.After = page[3].ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := s.List(t.Context(), keys.Query{After: "key_nobody", Limit: 1}); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("behind a key that is none: %v", err)
	}
}

func testHolders(t *testing.T, database Database) {
	s := open(t, database)
	two, revoked := full(0), full(1)
	two.RevokeTime = nil
	revoked.Name = "another"
	create(t, s, two, revoked, key(2), key(3))
	for name, test := range map[string]struct {
		asked []keys.Digest
		want  []keys.Key
	}{
		"nothing":         {nil, nil},
		"unknown":         {[]keys.Digest{{1}}, nil},
		"revoked":         {[]keys.Digest{revoked.Secrets[0].Hash, revoked.Secrets[1].Hash}, nil},
		"plain":           {[]keys.Digest{key(2).Secrets[0].Hash}, []keys.Key{key(2)}},
		"the newer":       {[]keys.Digest{two.Secrets[0].Hash}, []keys.Key{two}},
		"the one before":  {[]keys.Digest{two.Secrets[1].Hash}, []keys.Key{two}},
		"several, twice":  {[]keys.Digest{two.Secrets[1].Hash, key(3).Secrets[0].Hash, two.Secrets[0].Hash, two.Secrets[0].Hash, {2}}, []keys.Key{two, key(3)}},
		"hundreds of all": {append(slices.Repeat([]keys.Digest{{3}}, 700), key(2).Secrets[0].Hash, key(3).Secrets[0].Hash), []keys.Key{key(2), key(3)}},
	} {
		list, err := s.Holders(t.Context(), test.asked)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[keys.Digest]keys.Holder{}
		for _, h := range list {
			got[h.Hash] = h
		}
		if diff := cmp.Diff(held(t, test.want...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testChanged(t *testing.T, database Database) {
	s := open(t, database)
	create(t, s, key(0), key(1), key(2))
	before := version(t, s)
	rest := func(after keys.Position) (all []keys.Position) {
		t.Helper()
		for {
			page, err := s.Changed(t.Context(), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page...)
			if len(page) < 2 {
				return all
			}
			after = page[1]
		}
	}
	all := rest(keys.Position{})
	if len(all) != 3 || all[2].Number != before || all[2].Hash != key(2).Secrets[0].Hash {
		t.Errorf("three keys were made, version %d: %v", before, all)
	}
	last := all[2]
	// A rotation affects the old secret and the new one.
	next := sha256.Sum256([]byte("next"))
	err := update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Secrets[0].Hash = next })
	if err == nil {
		err = revoke(t.Context(), s, key(1).ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[keys.Digest]bool{}
	for _, p := range rest(last) {
		hashes[p.Hash] = true
	}
	want := map[keys.Digest]bool{key(0).Secrets[0].Hash: true, next: true, key(1).Secrets[0].Hash: true}
	if diff := cmp.Diff(want, hashes); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if again := rest(rest(last)[2]); len(again) != 0 {
		t.Errorf("behind the last: %v", again)
	}
}

// Several change keys while one follows: what it knows in the end is what the store has.
func testFollow(t *testing.T, database Database) { //nolint:gocognit // one story
	writers := []keys.Store{open(t, database), open(t, database), open(t, database)}
	reader := open(t, database)
	const each = 25
	known := map[keys.Digest]keys.Holder{}
	var at keys.Position
	follow := func() {
		for {
			page, err := reader.Changed(t.Context(), at, 3)
			if err != nil {
				t.Error(err)
				return
			}
			var hashes []keys.Digest
			for _, p := range page {
				if p.Number < at.Number || p.Number == at.Number && bytes.Compare(p.Hash[:], at.Hash[:]) <= 0 {
					t.Errorf("%v behind %v", p, at)
				}
				at = p
				hashes = append(hashes, p.Hash)
				delete(known, p.Hash)
			}
			list, err := reader.Holders(t.Context(), hashes)
			if err != nil {
				t.Error(err)
				return
			}
			for _, h := range list {
				known[h.Hash] = h
			}
			if len(page) < 3 {
				return
			}
		}
	}
	var wait sync.WaitGroup
	for w, s := range writers {
		wait.Go(func() {
			for n := range each {
				k := key(w*each + n)
				if err := s.Create(t.Context(), []keys.Key{k}, nil); err != nil {
					t.Error(err)
				}
				// It changes a key that another goroutine may change too, and revokes it at its third change.
				err := update(t.Context(), s, key((w*each+n)/2).ID, func(k *keys.Key) {
					if k.Owner += "x"; len(k.Owner) > 2 {
						at := epoch()
						k.RevokeTime = &at
					}
				})
				if err != nil && !errors.Is(err, keys.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		follow()
	}
	if diff := cmp.Diff(live(t, writers[0]), known); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
}

// Many keys are made all or none too, and a name or a secret that is taken is found wherever
// it is among them.
func testCreateMany(t *testing.T, database Database) {
	s := database(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list []keys.Key
	var changes []audit.Change
	for n := range 700 {
		list = append(list, key(n))
		changes = append(changes, changed("key.import", key(n).ID))
	}
	for name, other := range map[string]int{"in the same statement": 690, "in an earlier one": 3} {
		twice, secret := slices.Clone(list), slices.Clone(list)
		twice[699].Name, twice[699].Group = list[other].Name, list[other].Group
		err := s.Keys().Create(t.Context(), twice, changes)
		if taken, ok := errors.AsType[*keys.NameTakenError](err); !ok || taken.Key != list[699].ID || taken.By != list[other].ID {
			t.Errorf("a name twice %s: %v", name, err)
		}
		secret[699].Secrets = list[other].Secrets
		if err := s.Keys().Create(t.Context(), secret, changes); !errors.Is(err, keys.ErrExists) {
			t.Errorf("a secret twice %s: %v", name, err)
		}
	}
	if err := s.Keys().Create(t.Context(), list, changes); err != nil {
		t.Fatal(err)
	}
	if got := live(t, s.Keys()); !maps.Equal(held(t, list...), got) {
		t.Errorf("%d keys are live", len(got))
	}
	if head := verified(t, s); head.Number != 700 {
		t.Errorf("%d entries of the audit", head.Number)
	}
}
