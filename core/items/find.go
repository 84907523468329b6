package items

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

const (
	// maxReferences is how many items one request may refer to; further ones are unknown.
	maxReferences = 5000
	// Another core may have given the caller an item that it has not written yet: what is
	// not found is looked for again, this often, after a pause.
	looks, lookAgain = 2, 100 * time.Millisecond
)

// Find returns the items of those identifiers that are kept for the API key. It waits a
// moment for items that another core may be about to write. Each item that is found is kept
// for as long again.
func (k *Keeper) Find(ctx context.Context, keyID string, ids []string) (map[string][]byte, error) {
	if k == nil {
		return nil, nil
	}
	found := map[string][]byte{}
	missing := ids[:min(len(ids), maxReferences)]
	for look := 1; ; look++ {
		var err error
		if missing, err = k.look(ctx, keyID, missing, found); err != nil {
			return nil, err
		}
		if len(missing) == 0 || look == looks || !wait(ctx, lookAgain) {
			return found, nil
		}
	}
}

// look looks once, and returns the identifiers that it has not found.
func (k *Keeper) look(ctx context.Context, keyID string, ids []string, found map[string][]byte) (missing []string, err error) {
	names := map[[sha256.Size]byte]string{}
	var asked [][sha256.Size]byte
	k.mu.Lock()
	rows := make([]Row, 0, len(ids))
	for _, id := range ids {
		row := rowID(keyID, id)
		names[row] = id
		if pending, ok := k.pending[row]; ok {
			rows = append(rows, pending)
		} else {
			asked = append(asked, row)
		}
	}
	k.mu.Unlock()
	stored, err := k.config.Store.Get(ctx, asked)
	if err != nil {
		if ctx.Err() == nil { // not a caller who has left
			k.config.OnFailure()
		}
		return nil, fmt.Errorf("items: %w", err)
	}
	now := k.config.Clock()
	for _, row := range append(rows, stored...) {
		if row.Expires.Before(now) {
			continue
		}
		id, asked := names[row.ID]
		item, err := open(keyID, id, row.Sealed)
		if !asked || err != nil {
			return nil, fmt.Errorf("items: a row is not what its identifier says: %w", err)
		}
		found[id] = item
		if row.Expires.Sub(now) < k.config.Keep/2 {
			k.put(Row{ID: row.ID, Sealed: row.Sealed, Expires: now.Add(k.config.Keep)})
		}
	}
	for _, id := range ids {
		if found[id] == nil {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// wait reports false when ctx ends first.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
