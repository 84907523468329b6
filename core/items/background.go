package items

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/ledger"
)

// A response in the background has one item more while it runs, which names the process that runs it, and one if it was
// cancelled. Its turn and its frame are replaced when it ends.

// ResponseID names a response of an API key.
type ResponseID struct{ KeyID, ID string }

// processID is the identifier of the item that names the process of a response, and cancelID of the one that says that it was
// cancelled.
func processID(id string) string { return id + "/process" }
func cancelID(id string) string  { return id + "/cancel" }

// eventsID is the identifier of the item that has a piece of the events of a response.
func eventsID(id string, piece int) string { return id + "/events/" + strconv.Itoa(piece) }

// KeepEvents keeps a piece of the events of a response, without waiting for the store. It reports false if there is no room for
// it.
func (k *Keeper) KeepEvents(id ResponseID, piece int, events []byte) bool {
	k.mu.Lock()
	now := k.config.Clock()
	room := k.shares.room(id.KeyID, now, k.config.Keep) >= len(events)
	if room {
		k.shares.take(id.KeyID, now, k.config.Keep, len(events))
	}
	k.mu.Unlock()
	name := eventsID(id.ID, piece)
	sealed, err := seal(id.KeyID, name, events)
	return room && err == nil && len(k.put([]ledger.Item{{ID: rowID(id.KeyID, name), Sealed: sealed, Expires: now.Add(k.config.Keep)}}, false)) > 0
}

// Events returns a piece of the events of a response; nil for one that is not kept, or not yet.
func (k *Keeper) Events(ctx context.Context, id ResponseID, piece int) ([]byte, error) {
	name := eventsID(id.ID, piece)
	found := map[string][]byte{}
	_, err := k.look(ctx, id.KeyID, []string{name}, found)
	return found[name], err
}

// eventItems returns the identifiers of the items that have the events of a response.
func (k *Keeper) eventItems(ctx context.Context, keyID, id string) (all []string, err error) {
	const atOnce = 32
	for missing := []string(nil); len(missing) == 0 && err == nil; {
		some, found := make([]string, atOnce), map[string][]byte{}
		for i := range some {
			some[i] = eventsID(id, len(all)+i)
		}
		missing, err = k.look(ctx, keyID, some, found)
		all = slices.AppendSeq(all, maps.Keys(found))
	}
	return all, err
}

// Begin keeps a response that has not ended, which a process of the ledger runs. It returns when the store has it.
func (k *Keeper) Begin(ctx context.Context, id ResponseID, turn *stored.Turn, body []byte, process int64) error {
	frame, err := formOf(id.ID).Frame(body)
	if err != nil {
		return fmt.Errorf("items: %w", err)
	}
	return k.store(ctx, id.KeyID, map[string][]byte{
		id.ID: turn.Encode(), frameID(id.ID): frame, processID(id.ID): strconv.AppendInt(nil, process, 10),
	})
}

// Cancel notes that a response is cancelled. It returns when the store has it.
func (k *Keeper) Cancel(ctx context.Context, id ResponseID) error {
	return k.store(ctx, id.KeyID, map[string][]byte{cancelID(id.ID): []byte("true")})
}

// State is how a response in the background is run.
type State struct {
	// Process is the one of the ledger that runs it; 0 is not known.
	Process   int64
	Cancelled bool
}

// State returns how a response is run that was begun in the background.
func (k *Keeper) State(ctx context.Context, id ResponseID) (State, error) {
	found := map[string][]byte{}
	if _, err := k.look(ctx, id.KeyID, []string{processID(id.ID), cancelID(id.ID)}, found); err != nil {
		return State{}, err
	}
	process, _ := strconv.ParseInt(string(found[processID(id.ID)]), 10, 64)
	return State{Process: process, Cancelled: found[cancelID(id.ID)] != nil}, nil
}

// Cancelled returns those responses that were cancelled, or deleted before they had ended.
func (k *Keeper) Cancelled(ctx context.Context, ids []ResponseID) ([]ResponseID, error) {
	rows, of := make([][sha256.Size]byte, len(ids)), make(map[[sha256.Size]byte]ResponseID, len(ids))
	for i, id := range ids {
		rows[i] = rowID(id.KeyID, cancelID(id.ID))
		of[rows[i]] = id
	}
	found, err := k.config.Store.Get(ctx, rows)
	if err != nil {
		k.config.OnFailure()
		return nil, fmt.Errorf("items: %w", err)
	}
	var cancelled []ResponseID
	for _, row := range found {
		cancelled = append(cancelled, of[row.ID])
	}
	return cancelled, nil
}

// store writes items of one key.
func (k *Keeper) store(ctx context.Context, keyID string, kept map[string][]byte) error {
	rows := make([]ledger.Item, 0, len(kept))
	expires := k.config.Clock().Add(k.config.Keep)
	for id, text := range kept {
		sealed, err := seal(keyID, id, text)
		if err != nil {
			return err
		}
		rows = append(rows, ledger.Item{ID: rowID(keyID, id), Sealed: sealed, Expires: expires})
	}
	if err := k.config.Store.Put(ctx, rows); err != nil {
		if ctx.Err() == nil {
			k.config.OnFailure()
		}
		return fmt.Errorf("items: %w", err)
	}
	return nil
}
