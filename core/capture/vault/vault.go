package vault

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
)

const (
	// DefaultKeep is how long bodies are kept.
	DefaultKeep = 7 * 24 * time.Hour
	// MaxKeep is the longest that they can be kept.
	MaxKeep = 30 * 24 * time.Hour
	// MinKeep is the shortest.
	MinKeep = time.Hour

	// budget bounds the memory of captures, until they are written.
	budget = 64 << 20
	// maxWaiting bounds the captures that wait to be written, batch those of one write.
	maxWaiting, batch = 4096, 16
	// writeWithin bounds one write, and retryAfter is the pause before a write that failed is
	// tried for the second and last time.
	writeWithin, retryAfter = 5 * time.Second, time.Second
	// expireEvery is how often rows are removed whose time is over, removeCount how many at once.
	expireEvery, removeCount = 10 * time.Minute, 100
)

// What becomes of a capture, in the words of the metric.
const (
	Kept    = "kept"
	Dropped = "dropped" // there was no room for it
	Lost    = "failed"  // the store did not take it
)

// Config is what a Vault is made of. Only Store must be set.
type Config struct {
	Store Store
	// Logger gets a line when the store fails, and when it is back. Default: none.
	Logger *slog.Logger
	// Count, if set, is called with what has become of each capture: Kept, Dropped or Lost.
	Count func(result string)
	// Clock is time.Now unless set.
	Clock func() time.Time
	// Memory bounds the memory of captures until they are written. Default 64 MiB.
	Memory int64
}

// Vault keeps captures. One goroutine of its own does all work but collecting. Its methods are safe
// for concurrent use.
type Vault struct {
	config Config
	budget *capture.Budget
	ring   atomic.Pointer[Ring]
	keep   atomic.Int64

	mu      sync.Mutex
	waiting []waiting
	closed  bool
	failing bool // the goroutine's own

	wake, closing, ended chan struct{}
}

// waiting is a capture that is to be written.
type waiting struct {
	row     Row
	capture *capture.Capture
}

// New starts a vault, which the caller closes ahead of its store.
func New(config Config) *Vault {
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Count == nil {
		config.Count = func(string) {}
	}
	if config.Memory == 0 {
		config.Memory = budget
	}
	v := &Vault{config: config, budget: capture.NewBudget(config.Memory), wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{})}
	v.keep.Store(int64(DefaultKeep))
	go v.run()
	return v
}

// Use has rows that are written from now on be encrypted by the ring, or left in clear without
// one, and kept for so long.
func (v *Vault) Use(ring *Ring, keep time.Duration) {
	v.ring.Store(ring)
	v.keep.Store(int64(keep))
}

// Begin is capture.Begin with the vault's clock and memory.
func (v *Vault) Begin(rules ...*capture.Rule) *capture.Capture {
	return capture.Begin(v.config.Clock(), v.budget, rules...)
}

// Keep takes the capture of a request that has ended, to write it. It does not wait. What there is
// no room for is dropped.
func (v *Vault) Keep(c *capture.Capture, process, number int64, keyID string) {
	if !c.Close() {
		v.config.Count(Dropped)
		return
	}
	began := c.Began().UTC().Truncate(time.Microsecond)
	row := Row{Process: process, Number: number, KeyID: keyID, Start: began, Expires: began.Add(time.Duration(v.keep.Load()))}
	v.mu.Lock()
	full := v.closed || len(v.waiting) >= maxWaiting
	if !full {
		v.waiting = append(v.waiting, waiting{row, c})
	}
	v.mu.Unlock()
	if full {
		c.Release()
		v.config.Count(Dropped)
		return
	}
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Read returns the bodies of a request, and their row without its content; nil for none. The audit
// has the reading before that. The error is a *MissingKeyError, ErrDamaged, or the store's.
func (v *Vault) Read(ctx context.Context, process, number int64, reading audit.Change) (*Row, []capture.Body, error) {
	row, err := v.config.Store.Get(ctx, process, number, reading)
	if err != nil || row == nil || row.Expires.Before(v.config.Clock()) {
		return nil, nil, err //nolint:wrapcheck // the store says what it is
	}
	content, err := v.ring.Load().open(row)
	if err != nil {
		return nil, nil, err
	}
	row.Content = nil
	bodies, err := decode(content)
	if err != nil {
		return nil, nil, err
	}
	return row, bodies, nil
}

// Has reports whether there are bodies of a request.
func (v *Vault) Has(ctx context.Context, process, number int64) (bool, error) {
	return v.config.Store.Has(ctx, process, number) //nolint:wrapcheck // the store says what it is
}

// Delete removes rows and reports how many. The audit gets the changes with the first of them.
func (v *Vault) Delete(ctx context.Context, which Selection, changes ...audit.Change) (removed int64, err error) {
	for {
		n, err := v.config.Store.Delete(ctx, which, removeCount, changes...)
		removed, changes = removed+n, nil
		if err != nil || n < removeCount {
			return removed, err //nolint:wrapcheck // the store says what it is
		}
	}
}

// Close writes what waits to be written and ends the vault. It takes 10 s at most; what is left by
// then is lost, and counted.
func (v *Vault) Close() {
	v.mu.Lock()
	first := !v.closed
	v.closed = true
	v.mu.Unlock()
	if first {
		close(v.closing)
	}
	<-v.ended
}
