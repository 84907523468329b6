package items

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/protocol"
)

// A response is two items: its turn, under its identifier, and the rest of its body, under the identifier of its frame.

const (
	// maxInput is the most that a request may have as input for its response to be kept, and maxResponse the most that a
	// response may have with it, in bytes.
	maxInput, maxResponse = 4 << 20, 8 << 20
	// maxOfKey is how many bytes of responses of one key a keeper keeps at once; as many more within the time that they are kept.
	maxOfKey = 256 << 20
	// maxConversation bounds what is read of a conversation, in bytes.
	maxConversation = 32 << 20
)

// frameID is the identifier of the item that has the body of a response but for its output.
func frameID(id string) string { return id + "/frame" }

// formOf returns the form of the response of an identifier; nil if there can be none.
func formOf(id string) *stored.Form {
	if c := protocol.Stored(id); c != nil {
		return c.Stored()
	}
	return nil
}

// Takes reports whether a response would be kept whose request has an input of so many bytes.
func (k *Keeper) Takes(keyID string, input int) bool {
	if k == nil || input > maxInput {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shares.room(keyID, k.config.Clock(), k.config.Keep) >= input
}

// KeepResponse keeps a response and the items of its output, as Keep keeps items. It reports false for a response that is too
// large: that is not kept, but its items are.
func (k *Keeper) KeepResponse(entry *ledger.Record, keyID, id string, turn *stored.Turn, body []byte) bool {
	if k == nil {
		return false
	}
	form := formOf(id)
	kept, fits := form.ItemsOf(turn.Output), false
	frame, err := form.Frame(body)
	if err != nil {
		k.config.Logger.Error("a response is not kept", "error", err)
	} else if text := turn.Encode(); len(text)+len(frame) <= maxResponse {
		k.mu.Lock()
		k.shares.take(keyID, k.config.Clock(), k.config.Keep, len(text)+len(frame))
		k.mu.Unlock()
		kept, fits = append(kept, stored.Item{ID: id, JSON: text}, stored.Item{ID: frameID(id), JSON: frame}), true
	}
	k.keep(entry, keyID, kept, maxResponse)
	return fits
}

// madeID is the identifier of the item that says which upstream has a response.
func madeID(id string) string { return id + "/made" }

// anyKey is the key of what is known of a response to all keys: that it is another's.
const anyKey = ""

// KeepMade keeps that a response for the API key is stored by its upstream, whose account that is.
func (k *Keeper) KeepMade(entry *ledger.Record, keyID, id, account string) {
	k.Keep(entry, keyID, []stored.Item{{ID: madeID(id), JSON: []byte("by " + account)}})
	k.Keep(entry, anyKey, []stored.Item{{ID: madeID(id), JSON: []byte("for a key")}})
}

// Made returns the account of the upstream that stores a response for the key; "" for one that no upstream is known to store
// for it.
func (k *Keeper) Made(ctx context.Context, keyID, id string) (account string, known bool, err error) {
	found, err := k.Find(ctx, keyID, []string{madeID(id)})
	account, known = strings.CutPrefix(string(found[madeID(id)]), "by ")
	return account, known, err
}

// MadeForAKey reports whether an upstream is known to store a response for any key.
func (k *Keeper) MadeForAKey(ctx context.Context, id string) (bool, error) {
	found := map[string][]byte{}
	_, err := k.look(ctx, anyKey, []string{madeID(id)}, found)
	return len(found) > 0, err
}

// ErrTooLong is returned for a conversation that is too large to be read.
var ErrTooLong = errors.New("items: the conversation is too large")

// A NotFoundError names a response that is not kept for the key.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "items: no response " + e.ID }

// Turn returns the turn of a response. The error is a *NotFoundError where it is not kept for the key.
func (k *Keeper) Turn(ctx context.Context, keyID, id string) (*stored.Turn, error) {
	found, err := k.find(ctx, keyID, id, id)
	if err != nil {
		return nil, err
	}
	return stored.ParseTurn(found[id]), nil
}

// Response returns the body of a response, as it was kept, and its turn. The error is a *NotFoundError where it is not kept for
// the key.
func (k *Keeper) Response(ctx context.Context, keyID, id string) ([]byte, *stored.Turn, error) {
	found, err := k.find(ctx, keyID, id, id, frameID(id))
	if err != nil {
		return nil, nil, err
	}
	turn := stored.ParseTurn(found[id])
	body, err := formOf(id).Body(found[frameID(id)], turn)
	return body, turn, err
}

// Frame returns the body of a response without its output, which one that has not ended does not have. The error is a
// *NotFoundError where it is not kept for the key.
func (k *Keeper) Frame(ctx context.Context, id ResponseID) ([]byte, error) {
	found, err := k.find(ctx, id.KeyID, id.ID, frameID(id.ID))
	return found[frameID(id.ID)], err
}

// find returns items of a response, all of which are kept.
func (k *Keeper) find(ctx context.Context, keyID, id string, ids ...string) (map[string][]byte, error) {
	if formOf(id) == nil {
		return nil, &NotFoundError{id}
	}
	found, err := k.Find(ctx, keyID, ids)
	if err != nil {
		return nil, err
	}
	if len(found) < len(ids) {
		return nil, &NotFoundError{id}
	}
	return found, nil
}

// Conversation returns the turns of the conversation that a response ends, the latest first. It reads as many at once as
// stored.MaxBefore. The error is a *NotFoundError where one of its responses is not kept for the key.
func (k *Keeper) Conversation(ctx context.Context, keyID, id string) ([]*stored.Turn, error) {
	if formOf(id) == nil {
		return nil, &NotFoundError{id}
	}
	var latest []*stored.Turn
	size := 0
	for ids := []string{id}; len(ids) > 0; {
		found, err := k.Find(ctx, keyID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			text, ok := found[id]
			if !ok {
				return nil, &NotFoundError{id}
			}
			if size += len(text); size > maxConversation {
				return nil, ErrTooLong
			}
			latest = append(latest, stored.ParseTurn(text))
		}
		ids = latest[len(latest)-1].Before
	}
	return latest, nil
}

// DeleteResponse deletes a response and the items of its output, at every core. One that has not ended is cancelled. The error is
// a *NotFoundError where the response is not kept for the key.
func (k *Keeper) DeleteResponse(ctx context.Context, keyID, id string) error {
	turn, err := k.Turn(ctx, keyID, id)
	if err != nil {
		return err
	}
	// The rows of an entry may be written after this, or written again from a journal. What is in the place of theirs by
	// then stays, for as long as that may be.
	expires := k.config.Clock().Add(k.config.Keep + 24*time.Hour)
	ids := []string{id, frameID(id)}
	if turn.Output == nil {
		ids = append(ids, cancelID(id))
	}
	events, err := k.eventItems(ctx, keyID, id)
	if err != nil {
		return err
	}
	ids = append(ids, events...)
	for _, item := range formOf(id).ItemsOf(turn.Output) {
		ids = append(ids, item.ID)
	}
	rows := make([]ledger.Item, 0, len(ids))
	for _, id := range ids {
		rows = append(rows, ledger.Item{ID: rowID(keyID, id), Sealed: []byte{}, Expires: expires})
	}
	if err := k.config.Store.Put(ctx, rows); err != nil {
		if ctx.Err() == nil {
			k.config.OnFailure()
		}
		return fmt.Errorf("items: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, row := range rows {
		k.bytes -= len(k.pending[row.ID].Sealed)
		delete(k.pending, row.ID)
	}
	return nil
}

// shares bounds what is kept of each key: a leaky bucket of maxOfKey bytes, which is empty again after the time for which
// responses are kept.
type shares map[[sha256.Size]byte]share

type share struct {
	bytes int
	at    time.Time
}

// maxShares bounds the keys that are known; those of which nothing is kept any more are forgotten then.
const maxShares = 1 << 16

// room returns how many bytes more may be kept of a key.
func (s shares) room(keyID string, now time.Time, keep time.Duration) int {
	return maxOfKey - s[sha256.Sum256([]byte(keyID))].now(now, keep)
}

// take adds what is kept of a key.
func (s shares) take(keyID string, now time.Time, keep time.Duration, bytes int) {
	id := sha256.Sum256([]byte(keyID))
	if _, known := s[id]; !known && len(s) >= maxShares {
		for id, of := range s {
			if of.now(now, keep) == 0 {
				delete(s, id)
			}
		}
	}
	s[id] = share{s[id].now(now, keep) + bytes, now}
}

// now is what is left of a share.
func (s share) now(now time.Time, keep time.Duration) int {
	gone := float64(maxOfKey) * float64(now.Sub(s.at)) / float64(keep)
	return max(0, s.bytes-int(min(gone, float64(maxOfKey))))
}
