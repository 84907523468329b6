//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

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
	} {
		if free != nil {
			t.Errorf("%d: %v", i, free)
		}
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
