//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

// entries are what a query finds.
func entries(t *testing.T, s Keys, query audit.Query) []*audit.Entry {
	t.Helper()
	var found []*audit.Entry
	for e, err := range s.Audit().Entries(t.Context(), query) {
		if err != nil {
			t.Fatalf("audit: %v", err)
		}
		found = append(found, e)
	}
	return found
}

// verified is the head of a record that must be whole.
func verified(t *testing.T, s Keys) audit.Head {
	t.Helper()
	head, err := audit.Verify(s.Audit().Entries(t.Context(), audit.Query{}), [sha256.Size]byte{})
	if err != nil {
		t.Errorf("verify: %v", err)
	}
	return head
}

// opened opens a handle that the test's end closes.
func opened(t *testing.T, database Database) Keys {
	t.Helper()
	s := database(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func testAudit(t *testing.T, database Database) {
	s := opened(t, database)
	if got := entries(t, s, audit.Query{}); len(got) != 0 {
		t.Errorf("an empty store has %v", got)
	}
	changes := []audit.Change{
		changed("key.create", "first"),
		{Time: epoch().Add(time.Nanosecond), Action: "key.create", Subject: "second"},
	}
	first, err := s.Keys().CreateFirst(t.Context(), []keys.Key{key(0), key(1)}, changes)
	if err != nil || !first {
		t.Fatalf("got %t, %v", first, err)
	}
	create(t, s.Keys(), key(2))
	if err := revoke(t.Context(), s.Keys(), key(0).ID); err != nil {
		t.Fatal(err)
	}
	changes = append(changes, changed("key.create", key(2).ID), changed("key.update", key(0).ID))
	var want []*audit.Entry
	var last *audit.Entry
	for _, change := range changes {
		last = audit.Append(last, change)
		want = append(want, last)
	}
	if diff := cmp.Diff(want, entries(t, s, audit.Query{})); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if head := verified(t, s); head != (audit.Head{Number: 4, Hash: last.Hash}) {
		t.Errorf("head %+v", head)
	}
}

// More entries than any store reads at once.
func testAuditQuery(t *testing.T, database Database) {
	s := opened(t, database)
	const total = 2500
	var changes []audit.Change
	for n := range total {
		changes = append(changes, changed("key.create", key(n%7).ID))
	}
	if err := s.Keys().Create(t.Context(), []keys.Key{key(0)}, changes); err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]audit.Query{
		"all":           {},
		"after":         {After: total - 3},
		"after the end": {After: total},
		"subject":       {Subject: key(3).ID},
		"both":          {After: 1234, Subject: key(3).ID},
		"nobody":        {Subject: "key"},
		"newest":        {Newest: true},
		"newest before": {Newest: true, Before: 1234, Subject: key(3).ID},
		"before":        {Before: 1234},
		"between":       {Newest: true, Before: 1500, After: 20},
		"before all":    {Newest: true, Before: 1},
	} {
		var want int
		for n, change := range changes {
			if query.Matches(&audit.Entry{Number: int64(n) + 1, Change: change}) {
				want++
			}
		}
		found := entries(t, s, query)
		if len(found) != want {
			t.Errorf("%s: %d entries, want %d", name, len(found), want)
		}
		last := query.After
		if query.Newest {
			last = total + 1
		}
		for _, e := range found {
			if (e.Number > last) == query.Newest || e.Number == last || !query.Matches(e) {
				t.Errorf("%s: entry %d of %s behind %d", name, e.Number, e.Subject, last)
			}
			last = e.Number
		}
	}
	for _, err := range s.Audit().Entries(t.Context(), audit.Query{}) {
		if err != nil {
			t.Error(err)
		}
		break // and nothing is left open
	}
	create(t, s.Keys(), key(1))
}

func testAuditOfFailures(t *testing.T, database Database) {
	s := opened(t, database)
	create(t, s.Keys(), key(0))
	err := s.Keys().Create(t.Context(), []keys.Key{key(1), key(0)}, []audit.Change{changed("key.create", key(1).ID)})
	if !errors.Is(err, keys.ErrExists) {
		t.Errorf("create: %v", err)
	}
	if first, err := s.Keys().CreateFirst(t.Context(), []keys.Key{key(1)}, []audit.Change{changed("key.create", key(1).ID)}); first || err != nil {
		t.Errorf("create first: %t, %v", first, err)
	}
	create(t, s.Keys(), key(1))
	err = update(t.Context(), s.Keys(), key(0).ID, func(k *keys.Key) { k.Secrets = key(1).Secrets })
	if !errors.Is(err, keys.ErrExists) {
		t.Errorf("update: %v", err)
	}
	if err := revoke(t.Context(), s.Keys(), "unknown"); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("revoke: %v", err)
	}
	if head := verified(t, s); head.Number != 2 {
		t.Errorf("%d entries, want 2", head.Number)
	}
}
