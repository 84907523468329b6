// Package items keeps answers that callers of the responses protocol may fetch and continue, and the
// items of answers, which they may refer to by their identifiers in later requests (item_reference), for
// a bounded time.
//
// The vendor stores responses and resolves such references itself. Upstreams of other
// protocols store nothing, and the identifiers of their items are Genway's, so Genway must
// know what they refer to. A Keeper keeps each item in the store that all cores share,
// encrypted by a key that is made of the item's identifier: only the caller has that, so
// neither the store nor a copy of it can be read without the caller's own requests. An item
// belongs to the API key it was given to.
//
// It must not import upstreams, routes, grpc or net/http.
package items

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/ledger"
)

// Config configures a Keeper. Store and Keep must be set.
type Config struct {
	Store Store
	// Keep is how long an item is kept after it was given to its caller, and after each
	// request that refers to it.
	Keep time.Duration
	// Logger gets a line when the store fails. Default: none.
	Logger *slog.Logger
	// OnFailure is called for each operation of the store that failed, by any goroutine. Default:
	// nothing.
	OnFailure func()
	// Clock is time.Now unless set.
	Clock func() time.Time
}

const (
	// maxItem is the largest item that is kept, in bytes.
	maxItem = 4 << 20
	// maxPending bounds the bytes that wait to be written; what exceeds it is not kept.
	maxPending = 64 << 20
	// expireEvery is how often expired rows are removed, expireCount how many at once.
	expireEvery, expireCount = 10 * time.Minute, 1000
	// writeWithin bounds one write, and the last ones of Close.
	writeWithin = 5 * time.Second
	// retryAfter is the pause after a write that failed.
	retryAfter = time.Second
)

// Keeper keeps items. The ledger writes those of an answer with its entry; one goroutine of the keeper's own
// writes the rest, so that no answer waits for the store. Its methods are safe for concurrent use; a nil Keeper keeps nothing.
type Keeper struct {
	config Config

	mu      sync.Mutex
	pending map[[sha256.Size]byte]pendingItem // not written yet
	bytes   int
	failing bool
	shares  shares

	wake, closing, ended chan struct{}
}

// pendingItem is an item that waits to be written: by the ledger, or by the keeper.
type pendingItem struct {
	ledger.Item

	byLedger bool
}

// New starts a keeper, which the caller closes.
func New(config Config) *Keeper {
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.OnFailure == nil {
		config.OnFailure = func() {}
	}
	k := &Keeper{
		config: config, pending: map[[sha256.Size]byte]pendingItem{}, shares: shares{},
		wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go k.run()
	return k
}

// Close writes what waits to be written, also what a ledger has not written, and ends the keeper.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	close(k.closing)
	<-k.ended
}

// Keep keeps the items of an answer for the API key it goes to. They are written with the answer's entry in the
// ledger, whose recorder reports it by Written; without an entry that is open, by the keeper. It does not wait for the
// store: until an item is written, only this keeper knows it. An item that is too large is
// not kept.
func (k *Keeper) Keep(entry *ledger.Record, keyID string, items []stored.Item) {
	if k != nil {
		k.keep(entry, keyID, items, maxItem)
	}
}

// keep keeps items of at most so many bytes.
func (k *Keeper) keep(entry *ledger.Record, keyID string, items []stored.Item, most int) {
	expires := k.config.Clock().Add(k.config.Keep)
	kept := make([]ledger.Item, 0, len(items))
	for _, item := range items {
		if len(item.JSON) > most {
			continue
		}
		sealed, err := seal(keyID, item.ID, item.JSON)
		if err != nil {
			k.config.Logger.Error("an item is not kept", "error", err)
			continue
		}
		kept = append(kept, ledger.Item{ID: rowID(keyID, item.ID), Sealed: sealed, Expires: expires})
	}
	// What is pending before the ledger has it cannot be reported as written before it is pending.
	kept = k.put(kept, true)
	if len(kept) > 0 && !entry.Keep(kept) {
		k.put(kept, false)
	}
}

// put notes rows that are to be written, by the ledger or by the keeper, and returns those for which there is room.
func (k *Keeper) put(rows []ledger.Item, byLedger bool) []ledger.Item {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := rows[:0]
	for _, row := range rows {
		more := len(row.Sealed) - len(k.pending[row.ID].Sealed)
		if k.bytes+more > maxPending {
			continue
		}
		k.bytes += more
		k.pending[row.ID] = pendingItem{row, byLedger}
		taken = append(taken, row)
	}
	if !byLedger && len(taken) > 0 {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	return taken
}

// Written notes that rows are in the store: see ledger.Config.OnItems.
func (k *Keeper) Written(rows []ledger.Item) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, row := range rows {
		if now, ok := k.pending[row.ID]; ok && now.Expires.Equal(row.Expires) {
			k.bytes -= len(now.Sealed)
			delete(k.pending, row.ID)
		}
	}
}

// run writes what is pending, all of it at once, and removes what has expired.
func (k *Keeper) run() {
	defer close(k.ended)
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	for {
		select {
		case <-k.closing:
			k.write(true)
			return
		case <-k.wake:
			if !k.write(false) && !k.pause() {
				k.write(true)
				return
			}
		case <-expire.C:
			k.expire()
		}
	}
}

// pause waits before the next try, and reports false when the keeper is closed meanwhile.
func (k *Keeper) pause() bool {
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		select {
		case k.wake <- struct{}{}:
		default:
		}
		return true
	case <-k.closing:
		return false
	}
}

// write writes what is pending now; what the ledger writes only if all is asked for. Rows stay pending until they are
// written.
func (k *Keeper) write(all bool) bool {
	k.mu.Lock()
	rows := make([]ledger.Item, 0, len(k.pending))
	for _, row := range k.pending {
		if all || !row.byLedger {
			rows = append(rows, row.Item)
		}
	}
	k.mu.Unlock()
	if len(rows) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	err := k.config.Store.Put(ctx, rows)
	if err != nil {
		k.config.OnFailure()
	}
	if err == nil {
		k.Written(rows)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && !k.failing {
		k.config.Logger.Warn("items of answers cannot be kept; references to them resolve only at this core", "error", err)
	}
	k.failing = err != nil
	return err == nil
}

func (k *Keeper) expire() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
		n, err := k.config.Store.Expire(ctx, k.config.Clock(), expireCount)
		cancel()
		if err != nil {
			k.config.OnFailure()
			k.config.Logger.Warn("expired items cannot be removed", "error", err)
		}
		if err != nil || n < expireCount {
			return
		}
		select {
		case <-k.closing:
			return
		default:
		}
	}
}

// Store keeps rows. core/store implements it; package storetest says what it promises.
type Store interface {
	// Put inserts rows, all or none. A row that exists is replaced, unless nothing is sealed in it.
	Put(ctx context.Context, rows []ledger.Item) error
	// Get returns the rows of those identifiers that exist, expired or not, in any order.
	Get(ctx context.Context, ids [][sha256.Size]byte) ([]ledger.Item, error)
	// Expire removes at most count rows that expired before the time, and reports how many.
	Expire(ctx context.Context, before time.Time, count int) (int64, error)
}

// rowID is the identifier under which the store has an item. Neither the key nor the item's
// identifier can be read from it.
func rowID(keyID, itemID string) [sha256.Size]byte { return digest("genway item id", keyID, itemID) }

func digest(use, keyID, itemID string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%s", use, len(keyID), keyID, itemID))
}

// sealer encrypts by AES-256-GCM under a key that is made of both identifiers.
func sealer(keyID, itemID string) (cipher.AEAD, error) {
	key := digest("genway item key", keyID, itemID)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func seal(keyID, itemID string, item []byte) ([]byte, error) {
	s, err := sealer(keyID, itemID)
	if err != nil {
		return nil, err
	}
	return s.Seal(nil, nil, item, nil), nil //nolint:gosec // the cipher makes its own nonce, at random
}

func open(keyID, itemID string, sealed []byte) ([]byte, error) {
	s, err := sealer(keyID, itemID)
	if err != nil {
		return nil, err
	}
	item, err := s.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("items: open: %w", err)
	}
	return item, nil
}

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
	rows := make([]ledger.Item, 0, len(ids))
	for _, id := range ids {
		row := rowID(keyID, id)
		names[row] = id
		if pending, ok := k.pending[row]; ok {
			rows = append(rows, pending.Item)
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
		if row.Expires.Before(now) || len(row.Sealed) == 0 {
			continue
		}
		id, asked := names[row.ID]
		item, err := open(keyID, id, row.Sealed)
		if !asked || err != nil {
			return nil, fmt.Errorf("items: a row is not what its identifier says: %w", err)
		}
		found[id] = item
		if row.Expires.Sub(now) < k.config.Keep/2 {
			k.put([]ledger.Item{{ID: row.ID, Sealed: row.Sealed, Expires: now.Add(k.config.Keep)}}, false)
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
