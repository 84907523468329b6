//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
)

// ItemDatabase opens handles of one database.
type ItemDatabase func(t *testing.T) (items.Store, func() error)

// RunItems holds an items.Store to its interface.
func RunItems(t *testing.T, database ItemDatabase) {
	handle := func(t *testing.T) items.Store {
		s, end := database(t)
		t.Cleanup(func() {
			if err := end(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return s
	}
	one, other := handle(t), handle(t)
	var rows []ledger.Item
	var ids [][sha256.Size]byte
	for i := range 501 {
		r := ledger.Item{ID: sha256.Sum256(fmt.Append(nil, i)), Sealed: bytes.Repeat([]byte{0, byte(i)}, i), Expires: epoch().Add(time.Duration(i) * time.Second)}
		rows, ids = append(rows, r), append(ids, r.ID)
	}
	for range 2 { // a row that exists is replaced
		if err := one.Put(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Put(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	rows[1].Sealed, rows[1].Expires = []byte("anew"), epoch().Add(time.Hour)
	if err := other.Put(t.Context(), rows[1:2]); err != nil {
		t.Fatal(err)
	}
	found, err := other.Get(t.Context(), append(ids, sha256.Sum256([]byte("unknown"))))
	if err != nil || len(found) != len(rows) {
		t.Fatalf("%d rows found, not %d: %v", len(found), len(rows), err)
	}
	want := map[[sha256.Size]byte]ledger.Item{}
	for _, r := range rows {
		want[r.ID] = r
	}
	for _, r := range found {
		if w := want[r.ID]; !bytes.Equal(r.Sealed, w.Sealed) || !r.Expires.Equal(w.Expires) {
			t.Fatalf("%v, not %v", r, w)
		}
	}
	if none, err := one.Get(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	// A row in which nothing is sealed is one that was deleted, which no later writing brings back.
	gone := ledger.Item{ID: rows[500].ID, Sealed: []byte{}, Expires: epoch().Add(time.Hour)}
	for _, row := range []ledger.Item{gone, rows[500], gone} {
		if err := other.Put(t.Context(), []ledger.Item{row}); err != nil {
			t.Fatal(err)
		}
		if found, err := one.Get(t.Context(), ids[500:]); err != nil || len(found) != 1 || len(found[0].Sealed) != 0 || !found[0].Expires.Equal(gone.Expires) {
			t.Errorf("%v, %v", found, err)
		}
	}
	// 0 and 2 to 99 have expired; 1 was replaced.
	for _, step := range []struct{ count, removed int }{{60, 60}, {60, 39}, {60, 0}} {
		if n, err := one.Expire(t.Context(), epoch().Add(100*time.Second), step.count); err != nil || n != int64(step.removed) {
			t.Errorf("%d rows removed, not %d: %v", n, step.removed, err)
		}
	}
	if left, err := one.Get(t.Context(), ids[:101]); err != nil || len(left) != 2 {
		t.Errorf("%d rows left, %v", len(left), err)
	}
}
