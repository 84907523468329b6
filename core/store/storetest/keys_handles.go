//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"testing"

	"github.com/genway/genway/core/keys"
	"github.com/google/go-cmp/cmp"
)

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
