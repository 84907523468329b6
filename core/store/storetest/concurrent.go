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
	first, err := s.CreateFirst(t.Context(), []keys.Credential{credential(0), credential(1)})
	if err != nil || !first {
		t.Fatalf("got %t, %v", first, err)
	}
	want := []keys.Key{credential(0).Key, credential(1).Key}
	again := func(when string) {
		t.Helper()
		first, err := s.CreateFirst(t.Context(), []keys.Credential{credential(2)})
		if err != nil || first {
			t.Errorf("%s: got %t, %v", when, first, err)
		}
	}
	again("with keys")
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, k := range want {
		if err := s.Revoke(t.Context(), k.ID, epoch()); err != nil {
			t.Fatal(err)
		}
	}
	again("with revoked keys")
}

func testCreateFirstAllOrNone(t *testing.T, database Database) {
	s := open(t, database)
	first, err := s.CreateFirst(t.Context(), []keys.Credential{credential(0), credential(1), credential(0)})
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
			firsts[n], err = handles[n%len(handles)].CreateFirst(t.Context(), []keys.Credential{credential(2 * n), credential(2*n + 1)})
			if err != nil {
				t.Errorf("caller %d: %v", n, err)
			}
		})
	}
	wait.Wait()
	var want []keys.Key
	for n, first := range firsts {
		if first {
			want = append(want, credential(2*n).Key, credential(2*n+1).Key)
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
				c := credential(h*each + n)
				if err := s.Create(t.Context(), c.Key, c.Hash); err != nil {
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
