//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

func testCreateFirst(t *testing.T, database Database) {
	s := open(t, database)
	first, err := s.CreateFirst(t.Context(), []keys.Key{key(0), key(1)}, nil)
	if err != nil || !first {
		t.Fatalf("got %t, %v", first, err)
	}
	want := []keys.Key{key(0), key(1)}
	again := func(when string) {
		t.Helper()
		first, err := s.CreateFirst(t.Context(), []keys.Key{key(2)}, nil)
		if err != nil || first {
			t.Errorf("%s: got %t, %v", when, first, err)
		}
	}
	again("with keys")
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, k := range want {
		if err := revoke(t.Context(), s, k.ID); err != nil {
			t.Fatal(err)
		}
	}
	again("with revoked keys")
}

func testCreateFirstAllOrNone(t *testing.T, database Database) {
	s := open(t, database)
	first, err := s.CreateFirst(t.Context(), []keys.Key{key(0), key(1), key(0)}, nil)
	if !errors.Is(err, keys.ErrExists) || first {
		t.Errorf("got %t, %v, want ErrExists", first, err)
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("it created %v", got)
	}
}

func testCreateFirstConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database), open(t, database)}
	const callers = 12
	firsts := make([]bool, callers)
	var wait sync.WaitGroup
	for n := range callers {
		wait.Go(func() {
			var err error
			firsts[n], err = handles[n%len(handles)].CreateFirst(t.Context(), []keys.Key{key(2 * n), key(2*n + 1)}, nil)
			if err != nil {
				t.Errorf("caller %d: %v", n, err)
			}
		})
	}
	wait.Wait()
	var want []keys.Key
	for n, first := range firsts {
		if first {
			want = append(want, key(2*n), key(2*n+1))
		}
	}
	if len(want) != 2 {
		t.Errorf("%d callers were first", len(want)/2)
	}
	if diff := cmp.Diff(want, list(t, handles[0])); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testCreateConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database)}
	const each = 20
	var wait sync.WaitGroup
	for h, s := range handles {
		wait.Go(func() {
			for n := range each {
				if err := s.Create(t.Context(), []keys.Key{key(h*each + n)}, nil); err != nil {
					t.Errorf("handle %d: %v", h, err)
				}
			}
		})
	}
	wait.Wait()
	for _, s := range handles {
		if got := live(t, s); len(got) != each*len(handles) {
			t.Errorf("%d keys are live, want %d", len(got), each*len(handles))
		}
	}
}

// Each adds to what the one before left: none is lost.
func testUpdateConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database)}
	create(t, handles[0], key(0))
	const each = 10
	var wait sync.WaitGroup
	for _, s := range handles {
		for range 2 {
			wait.Go(func() {
				for range each {
					if err := update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Owner += "x" }); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	if got := len(list(t, handles[0])[0].Owner); got != 4*each {
		t.Errorf("%d changes stayed, want %d", got, 4*each)
	}
}

func testAuditConcurrently(t *testing.T, database Database) {
	one, other := database(t), database(t)
	handles := []Keys{one, other}
	const each = 20
	var wait sync.WaitGroup
	for h, s := range handles {
		wait.Go(func() {
			for n := range each {
				create(t, s.Keys(), key(h*each+n))
			}
		})
	}
	wait.Wait()
	if head := verified(t, one); head.Number != 2*each {
		t.Errorf("%d entries, want %d", head.Number, 2*each)
	}
	for _, s := range handles {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
