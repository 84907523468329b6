package items_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
)

// storedID is the identifier of the response of a number.
func storedID(n int) string { return fmt.Sprintf("%s%032x", (responses.Codec{}).Stored().Prefix, n) }

func body(n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"output":[{"id":"msg_%d","type":"message"}],"instructions":"be brief"}`, storedID(n), n)
}

func keepResponse(k *items.Keeper, key string, n int, before []string) *stored.Turn {
	turn := (responses.Codec{}).Stored().NewTurn(fmt.Appendf(nil, `{"input":"question %d"}`, n), 0, body(n), before)
	k.KeepResponse(nil, key, storedID(n), turn, body(n))
	return turn
}

func unknown(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*items.NotFoundError](err); !ok {
		t.Errorf("%v", err)
	}
}

// A response is found by its key and identifier alone, until it expires or is deleted: at every core, and for good, also where the
// rows of its entry are written after the deletion.
func TestResponsesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{}
		one, other := items.New(items.Config{Store: shared, Keep: time.Hour}), items.New(items.Config{Store: shared, Keep: time.Hour})
		defer one.Close()
		defer other.Close()
		keepResponse(one, "key_1", 1, nil)
		synctest.Wait()
		rows := maps.Clone(shared.rows)
		for _, k := range []*items.Keeper{one, other} {
			if got, _, err := k.Response(t.Context(), "key_1", storedID(1)); err != nil || !bytes.Equal(got, body(1)) {
				t.Errorf("%s, %v", got, err)
			}
			for _, c := range [][2]string{{"key_2", storedID(1)}, {"", storedID(1)}, {"key_1", storedID(2)}, {"key_1", ""}, {"key_1", storedID(1) + "/frame"}, {"key_1", "msg_1"}} {
				_, _, err := k.Response(t.Context(), c[0], c[1])
				unknown(t, err)
				_, err = k.Turn(t.Context(), c[0], c[1])
				unknown(t, err)
				_, err = k.Conversation(t.Context(), c[0], c[1])
				unknown(t, err)
				unknown(t, k.DeleteResponse(t.Context(), c[0], c[1]))
			}
		}
		if err := other.DeleteResponse(t.Context(), "key_1", storedID(1)); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows { // again, from a journal
			if err := shared.Put(t.Context(), []ledger.Item{row}); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range []*items.Keeper{one, other} {
			_, _, err := k.Response(t.Context(), "key_1", storedID(1))
			unknown(t, err)
			unknown(t, k.DeleteResponse(t.Context(), "key_1", storedID(1)))
			finds(t, k, "key_1", "msg_1", nil)
		}
		for id, row := range shared.rows {
			if len(row.Sealed) != 0 {
				t.Errorf("%x has %d bytes", id, len(row.Sealed))
			}
		}
		keepResponse(one, "key_1", 3, nil)
		time.Sleep(61 * time.Minute) //nolint:forbidigo // of the bubble
		_, _, err := other.Response(t.Context(), "key_1", storedID(3))
		unknown(t, err)
		time.Sleep(26 * time.Hour) //nolint:forbidigo // of the bubble
		synctest.Wait()
		if n := shared.count(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// reads counts the calls of Get.
type reads struct {
	items.Store

	count atomic.Int64
}

func (r *reads) Get(ctx context.Context, ids [][sha256.Size]byte) ([]ledger.Item, error) {
	r.count.Add(1)
	return r.Store.Get(ctx, ids)
}

// A conversation of 10,000 turns is read in few steps, and each of its turns is as small as any.
func TestLongConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns = 10_000
		shared := &memory{}
		counted := &reads{Store: shared}
		k := items.New(items.Config{Store: counted, Keep: time.Hour})
		defer k.Close()
		var before []string
		largest := 0
		for n := range turns {
			turn := keepResponse(k, "key_1", n, before)
			largest = max(largest, len(turn.Encode()))
			before = turn.After(storedID(n))
		}
		synctest.Wait()
		latest, err := k.Conversation(t.Context(), "key_1", storedID(turns-1))
		if err != nil || len(latest) != turns {
			t.Fatalf("%d turns, %v", len(latest), err)
		}
		for i, turn := range latest {
			if want := fmt.Sprintf(`[{"type":"message","role":"user","content":"question %d"}]`, turns-1-i); string(turn.Input) != want {
				t.Fatalf("turn %d has %s", i, turn.Input)
			}
		}
		if steps := counted.count.Load(); steps > turns/stored.MaxBefore+2 {
			t.Errorf("%d steps", steps)
		}
		if most := stored.MaxBefore*(len(storedID(0))+3) + 300; largest > most {
			t.Errorf("a turn has %d bytes, more than %d", largest, most)
		}
		// One turn less, and the conversation is not there.
		if err := k.DeleteResponse(t.Context(), "key_1", storedID(1)); err != nil {
			t.Fatal(err)
		}
		_, err = k.Conversation(t.Context(), "key_1", storedID(turns-1))
		if missing, ok := errors.AsType[*items.NotFoundError](err); !ok || missing.ID != storedID(1) {
			t.Errorf("%v", err)
		}
	})
}

// What is kept is bounded: of a response, of a key, and of a conversation that is read.
func TestBoundsOfResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := items.New(items.Config{Store: &memory{}, Keep: time.Hour})
		defer k.Close()
		if k.Takes("key_1", 5<<20) || !k.Takes("key_1", 4<<20) {
			t.Error("an input of 5 MB is taken, or none of 4")
		}
		large := func(n, size int, before []string) *stored.Turn {
			turn := &stored.Turn{Input: []byte(`["` + strings.Repeat("x", size) + `"]`), Output: []byte(`[]`), Before: before}
			k.KeepResponse(nil, "key_1", storedID(n), turn, body(n))
			synctest.Wait()
			return turn
		}
		large(1, 9<<20, nil)
		_, _, err := k.Response(t.Context(), "key_1", storedID(1))
		unknown(t, err)
		var before []string
		for n := 2; n < 12; n++ {
			before = large(n, 4<<20-100, before).After(storedID(n))
		}
		if _, err := k.Conversation(t.Context(), "key_1", storedID(11)); !errors.Is(err, items.ErrTooLong) {
			t.Errorf("%v", err)
		}
		for n := 12; k.Takes("key_1", 1<<20); n++ {
			if n > 100 {
				t.Fatal("there is no bound")
			}
			large(n, 4<<20-100, nil)
		}
		if !k.Takes("key_2", 1<<20) {
			t.Error("the bound of one key is another's")
		}
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		if !k.Takes("key_1", 4<<20) {
			t.Error("what has expired counts")
		}
	})
}

// A store that is away is told, and deletes nothing.
func TestResponsesOfAFailingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{}
		k := items.New(items.Config{Store: shared, Keep: time.Hour})
		defer k.Close()
		keepResponse(k, "key_1", 1, nil)
		synctest.Wait()
		shared.failing(errors.New("away"))
		_, _, err := k.Response(t.Context(), "key_1", storedID(1))
		for _, err := range []error{err, k.DeleteResponse(t.Context(), "key_1", storedID(1))} {
			if _, missing := errors.AsType[*items.NotFoundError](err); err == nil || missing {
				t.Errorf("%v", err)
			}
		}
		shared.failing(nil)
		if got, _, err := k.Response(t.Context(), "key_1", storedID(1)); err != nil || !bytes.Equal(got, body(1)) {
			t.Errorf("%s, %v", got, err)
		}
	})
}
