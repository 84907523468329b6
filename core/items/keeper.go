package items

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/genway/genway/codec/responses"
)

// Config is what a Keeper is made of. Store and Keep must be set.
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

// Keeper keeps items. One goroutine of its own does all writing, so that no answer waits for
// the store. Its methods are safe for concurrent use; a nil Keeper keeps nothing.
type Keeper struct {
	config Config

	mu      sync.Mutex
	pending map[[sha256.Size]byte]Row // not written yet
	bytes   int
	failing bool

	wake, closing, ended chan struct{}
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
		config: config, pending: map[[sha256.Size]byte]Row{},
		wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go k.run()
	return k
}

// Close writes what waits to be written and ends the keeper.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	close(k.closing)
	<-k.ended
}

// Keep keeps the items of an answer for the API key it goes to. It does not wait for the
// store: until an item is written, only this keeper knows it. An item that is too large is
// not kept.
func (k *Keeper) Keep(keyID string, items []responses.Item) {
	if k == nil {
		return
	}
	expires := k.config.Clock().Add(k.config.Keep)
	for _, item := range items {
		if len(item.JSON) > maxItem {
			continue
		}
		sealed, err := seal(keyID, item.ID, item.JSON)
		if err != nil {
			k.config.Logger.Error("an item is not kept", "error", err)
			continue
		}
		k.put(Row{ID: rowID(keyID, item.ID), Sealed: sealed, Expires: expires})
	}
}

// put has a row written.
func (k *Keeper) put(row Row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes+len(row.Sealed) > maxPending {
		return
	}
	k.bytes += len(row.Sealed) - len(k.pending[row.ID].Sealed)
	k.pending[row.ID] = row
	select {
	case k.wake <- struct{}{}:
	default:
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
			k.write()
			return
		case <-k.wake:
			if !k.write() && !k.pause() {
				k.write()
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

// write writes what is pending now. Rows stay pending until they are written.
func (k *Keeper) write() bool {
	k.mu.Lock()
	rows := make([]Row, 0, len(k.pending))
	for _, row := range k.pending {
		rows = append(rows, row)
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if !k.failing {
			k.config.Logger.Warn("items of answers cannot be kept; references to them resolve only at this core", "error", err)
		}
		k.failing = true
		return false
	}
	k.failing = false
	for _, row := range rows {
		if now := k.pending[row.ID]; now.Expires.Equal(row.Expires) {
			k.bytes -= len(row.Sealed)
			delete(k.pending, row.ID)
		}
	}
	return true
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
