package items_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// memory is a store in memory that can fail.
type memory struct {
	mu   sync.Mutex
	rows map[[sha256.Size]byte]ledger.Item
	fail error
	puts int
}

func (m *memory) Put(_ context.Context, rows []ledger.Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	if m.fail != nil {
		return m.fail
	}
	for _, r := range rows {
		if m.rows == nil {
			m.rows = map[[sha256.Size]byte]ledger.Item{}
		}
		if old, ok := m.rows[r.ID]; !ok || len(old.Sealed) > 0 {
			m.rows[r.ID] = r
		}
	}
	return nil
}

func (m *memory) Get(_ context.Context, ids [][sha256.Size]byte) (found []ledger.Item, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if r, ok := m.rows[id]; ok {
			found = append(found, r)
		}
	}
	return found, m.fail
}

func (m *memory) Expire(_ context.Context, before time.Time, count int) (n int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.rows {
		if r.Expires.Before(before) && n < int64(count) {
			delete(m.rows, id)
			n++
		}
	}
	return n, m.fail
}

func (m *memory) failing(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}

func item(id, text string) []stored.Item {
	return []stored.Item{{ID: id, JSON: []byte(text)}}
}

// finds demands what a keeper finds under one identifier; nil is nothing.
func finds(t *testing.T, k *items.Keeper, keyID, id string, want []byte) {
	t.Helper()
	found, err := k.Find(t.Context(), keyID, []string{id, "msg_gwunknown"})
	if err != nil || !bytes.Equal(found[id], want) || found["msg_gwunknown"] != nil {
		t.Errorf("%s of %s is %s, not %s: %v", id, keyID, found[id], want, err)
	}
}

// An item is found only by its key and identifier, at every core, for as long as it is
// used, and not in clear in the store.
func TestItemsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{}
		one, other := items.New(items.Config{Store: shared, Keep: time.Hour}), items.New(items.Config{Store: shared, Keep: time.Hour})
		defer one.Close()
		defer other.Close()
		one.Keep(nil, "key_1", item("rs_1", "what was said"))
		finds(t, one, "key_1", "rs_1", []byte("what was said"))
		synctest.Wait()
		finds(t, other, "key_1", "rs_1", []byte("what was said"))
		finds(t, other, "key_2", "rs_1", nil)
		finds(t, other, "key_", "1rs_1", nil)
		for _, r := range shared.rows {
			if bytes.Contains(r.Sealed, []byte("said")) {
				t.Errorf("in clear: %q", r.Sealed)
			}
		}
		// Used after 40 minutes, it is there after 80.
		time.Sleep(40 * time.Minute) //nolint:forbidigo // of the bubble
		finds(t, other, "key_1", "rs_1", []byte("what was said"))
		time.Sleep(40 * time.Minute) //nolint:forbidigo // of the bubble
		finds(t, one, "key_1", "rs_1", []byte("what was said"))
		time.Sleep(61 * time.Minute) //nolint:forbidigo // of the bubble
		finds(t, one, "key_1", "rs_1", nil)
		time.Sleep(20 * time.Minute) //nolint:forbidigo // of the bubble
		synctest.Wait()
		if n := shared.count(); n != 0 {
			t.Errorf("%d expired rows", n)
		}
	})
}

// The items of an answer whose entry is open are written with it, and by the keeper only at its end if they are not. This
// core knows them at once.
func TestItemsOfAnEntry(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	puts := &counting{Store: db.Items()}
	one, other := items.New(items.Config{Store: puts, Keep: time.Hour}), items.New(items.Config{Store: db.Items(), Keep: time.Hour})
	t.Cleanup(other.Close)
	r, err := ledger.Start(t.Context(), ledger.Config{Store: db.Ledger(), OnItems: one.Written})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *ledger.Record {
		record, err := r.Open(t.Context(), ledger.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	record, left := open(), open()
	one.Keep(record, "key", item("rs_1", "with its entry"))
	finds(t, one, "key", "rs_1", []byte("with its entry"))
	finds(t, other, "key", "rs_1", nil)
	record.Settle(ledger.Result{Outcome: ledger.OK})
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	finds(t, one, "key", "rs_1", []byte("with its entry"))
	finds(t, other, "key", "rs_1", []byte("with its entry"))
	one.Keep(left, "key", item("rs_2", "of a request that did not end"))
	finds(t, other, "key", "rs_2", nil)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := puts.rows.Load(); n != 0 {
		t.Errorf("the keeper has written %d rows of entries", n)
	}
	one.Keep(record, "key", item("rs_3", "too late for its entry"))
	one.Close()
	if n := puts.rows.Load(); n != 2 {
		t.Errorf("the keeper has written %d rows, not that of the request which did not end and that which came late", n)
	}
	finds(t, other, "key", "rs_2", []byte("of a request that did not end"))
	finds(t, other, "key", "rs_3", []byte("too late for its entry"))
}

// counting counts the rows that are put.
type counting struct {
	items.Store

	rows atomic.Int64
}

func (c *counting) Put(ctx context.Context, rows []ledger.Item) error {
	c.rows.Add(int64(len(rows)))
	return c.Store.Put(ctx, rows)
}

// A store that fails delays no answer and loses no item that still fits into memory.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{fail: errors.New("down")}
		var failures atomic.Int64
		k := items.New(items.Config{Store: shared, Keep: time.Hour, OnFailure: func() { failures.Add(1) }})
		k.Keep(nil, "key_1", item("rs_1", "one"))
		if _, err := k.Find(t.Context(), "key_1", []string{"rs_2"}); err == nil {
			t.Error("a lookup that failed looks like an item that is not known")
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, err := k.Find(left, "key_1", []string{"rs_2"}); err == nil {
			t.Error("a lookup of a caller who has left looks like an item that is not known")
		}
		time.Sleep(5 * time.Second) //nolint:forbidigo // of the bubble
		synctest.Wait()
		if n := failures.Load(); n != int64(shared.puts)+1 {
			t.Errorf("%d failures were reported of %d writes and one lookup", n, shared.puts)
		}
		if shared.puts < 3 || shared.puts > 10 {
			t.Errorf("%d tries in 5 s", shared.puts)
		}
		shared.failing(nil)
		k.Keep(nil, "key_1", item("rs_2", "two"))
		k.Close()
		if n := shared.count(); n != 2 {
			t.Errorf("%d rows, not 2", n)
		}
	})
}

// What is too large, or more than may wait, is not kept; nothing is kept twice.
func TestKeeperIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{fail: errors.New("down")}
		k := items.New(items.Config{Store: shared, Keep: time.Hour})
		k.Keep(nil, "key", item("large", string(make([]byte, 4<<20+1))))
		for i := range 100 {
			k.Keep(nil, "key", item(string(rune('A'+i)), string(make([]byte, 1<<20))))
			k.Keep(nil, "key", item("same", "x"))
		}
		shared.failing(nil)
		k.Close()
		if n := shared.count(); n < 50 || n > 64 {
			t.Errorf("%d rows of 1 MiB waited, not up to 64 MiB", n)
		}
	})
}

// A nil keeper keeps and finds nothing.
func TestNilKeeper(t *testing.T) {
	var k *items.Keeper
	k.Keep(nil, "key", item("a", "b"))
	if found, err := k.Find(t.Context(), "key", []string{"a"}); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	k.Close()
}
