// Package vault keeps captured bodies: off the path of requests, in bounded memory, encrypted
// where the operator has given a key, and for a while. What cannot be kept is dropped and counted:
// no call waits for it or fails of it.
//
// It must not import a database, grpc or net/http.
package vault

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/go-json-experiment/json"
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
	// maxWaiting bounds the captures that wait to be written, batch the captures of one write.
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

// Config configures a Vault. Only Store must be set.
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

// New starts a vault, which the caller closes before its store.
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

// A row's content is a line of JSON, which describes the bodies, and after it their bytes, one
// body after the other.

type described struct {
	capture.Body
	Length int `json:"length"`
}

func encode(bodies []capture.Body) ([]byte, error) {
	list, size := make([]described, len(bodies)), 0
	for i, b := range bodies {
		list[i] = described{b, len(b.Data)}
		size += len(b.Data)
	}
	head, err := json.Marshal(list)
	if err != nil {
		return nil, err //nolint:wrapcheck // of names and numbers
	}
	content := make([]byte, 0, len(head)+1+size)
	content = append(append(content, head...), '\n')
	for _, b := range bodies {
		content = append(content, b.Data...)
	}
	return content, nil
}

func decode(content []byte) ([]capture.Body, error) {
	head, rest, ok := bytes.Cut(content, []byte("\n"))
	var list []described
	if !ok || json.Unmarshal(head, &list) != nil {
		return nil, ErrDamaged
	}
	bodies := make([]capture.Body, len(list))
	for i, d := range list {
		if d.Length < 0 || d.Length > len(rest) {
			return nil, ErrDamaged
		}
		bodies[i], rest = d.Body, rest[d.Length:]
		bodies[i].Data = content[len(content)-len(rest)-d.Length : len(content)-len(rest)]
	}
	if len(rest) > 0 {
		return nil, ErrDamaged
	}
	return bodies, nil
}

// Row is the bodies of one request as a Store has them.
type Row struct {
	// Process and Number name the request's entry in the ledger.
	Process, Number int64
	// KeyID is the key that made the request, Start when it began.
	KeyID string
	Start time.Time
	// Expires is when the row is removed.
	Expires time.Time
	// SealedBy is the name of the key that the bodies are encrypted by; empty is in clear.
	SealedBy string
	// Content is what Vault makes of the bodies.
	Content []byte
}

// Selection names rows. Exactly one member is set.
type Selection struct {
	// Process and Number are one request's.
	Process, Number int64
	// KeyID is all of one key's.
	KeyID string
	// Before is all that expired before.
	Before time.Time
	// All is all there are.
	All bool
}

// Store keeps rows. core/store implements it; package storetest says what it promises.
type Store interface {
	// Put inserts rows, all or none. A row of a request that has one is replaced.
	Put(ctx context.Context, rows []Row) error
	// Get returns the row of a request, expired or not, once the audit has the reading of it; nil
	// for none, of which the audit has nothing.
	Get(ctx context.Context, process, number int64, reading audit.Change) (*Row, error)
	// Has reports whether a request has a row, without reading it.
	Has(ctx context.Context, process, number int64) (bool, error)
	// Delete removes at most count of the rows that are selected, the oldest first, and reports how
	// many. The audit gets the changes with it, also where there is no row.
	Delete(ctx context.Context, which Selection, count int, changes ...audit.Change) (int64, error)
}

func (v *Vault) run() {
	defer close(v.ended)
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	for {
		select {
		case <-v.closing:
			v.drain()
			return
		case <-v.wake:
			for v.write(v.take()) {
			}
		case <-expire.C:
			v.expire()
		}
	}
}

// drain writes what is left, as far as the store takes it in time.
func (v *Vault) drain() {
	for began := time.Now(); time.Since(began) < writeWithin; {
		some := v.take()
		if len(some) == 0 || !v.write(some) && v.failing {
			break
		}
	}
	for some := v.take(); len(some) > 0; some = v.take() {
		v.done(some, Lost)
	}
}

// take takes some of what waits.
func (v *Vault) take() []waiting {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := min(batch, len(v.waiting))
	some := v.waiting[:n:n]
	v.waiting = v.waiting[n:]
	return some
}

// write writes captures, and reports whether to look for more.
func (v *Vault) write(some []waiting) bool {
	if len(some) == 0 {
		return false
	}
	ring := v.ring.Load()
	rows := make([]Row, 0, len(some))
	for i, w := range some {
		content, err := encode(w.capture.Bodies())
		if err != nil {
			v.config.Logger.Error("captured bodies cannot be written", "error", err)
			v.done(some[i:i+1], Lost)
			continue
		}
		w.row.Content = content
		ring.seal(&w.row)
		some[len(rows)], rows = w, append(rows, w.row)
	}
	some = some[:len(rows)]
	err := v.put(rows)
	if err != nil && v.pause() {
		err = v.put(rows)
	}
	switch {
	case err != nil && !v.failing:
		v.failing = true
		v.config.Logger.Warn("captured bodies cannot be kept", "error", err)
	case err == nil && v.failing:
		v.failing = false
		v.config.Logger.Info("captured bodies are kept again")
	}
	if err != nil {
		v.done(some, Lost)
	} else {
		v.done(some, Kept)
	}
	return true
}

func (v *Vault) put(rows []Row) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	if err := v.config.Store.Put(ctx, rows); err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	return nil
}

// pause waits before the second try, and reports false when the vault is closed meanwhile.
func (v *Vault) pause() bool {
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.closing:
		return false
	}
}

func (v *Vault) done(some []waiting, result string) {
	for _, w := range some {
		w.capture.Release()
		v.config.Count(result)
	}
}

// expire removes rows whose time is over.
func (v *Vault) expire() {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	if _, err := v.Delete(ctx, Selection{Before: v.config.Clock()}); err != nil {
		v.config.Logger.Warn("captured bodies whose time is over cannot be removed", "error", err)
	}
}
