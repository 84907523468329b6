package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Service is made of. Only Store must be set.
type Config struct {
	// Store keeps the keys.
	Store Store
	// Freshness is how long after a look at the store the next one begins, in the
	// background, once a key is used. Default 500 ms, at most one second. A key that was
	// not compared with the store for 1.5 s is compared before it is accepted: the promise
	// is that a revocation by another process takes effect within two, and the rest is
	// for asking the store.
	Freshness time.Duration
	// Staleness is how long known keys stay good while the store does not answer,
	// counted from its last answer. Default one minute. Longer outages refuse
	// everyone with ErrUnavailable, since revocations can no longer be seen.
	Staleness time.Duration
	// Timeout bounds each question to the store on behalf of Authenticate. Default
	// one second.
	Timeout time.Duration
	// Logger gets one line when the store stops to answer and one when it is back.
	// Default: none.
	Logger *slog.Logger
	// Clock is time.Now unless set.
	Clock func() time.Time
	// Random is crypto/rand.Reader unless set.
	Random io.Reader
}

const (
	defaultFreshness = 500 * time.Millisecond
	maxFreshness     = time.Second
	// maxAge is how long ago a key was compared with the store that is accepted while the
	// store answers.
	maxAge           = 1500 * time.Millisecond
	defaultStaleness = time.Minute
	defaultTimeout   = time.Second
)

// A Service makes, lists, changes, revokes and authenticates keys. What it changes
// it has recorded with the actor of the context (audit.WithActor). It is safe for concurrent
// use. A goroutine of its own runs while there is something to read of the store: Close ends
// it.
type Service struct {
	store     Store
	freshness time.Duration
	staleness time.Duration
	timeout   time.Duration
	logger    *slog.Logger
	clock     func() time.Time
	random    io.Reader
	base      time.Time // of elapsed

	// table is who holds which secret; the holder of turn changes and replaces it.
	table atomic.Pointer[table]
	// view is how the table compares with the store; never nil, and replaced only by the
	// holder of turn.
	view atomic.Pointer[view]
	// turn is held by the one that asks the store on behalf of all.
	turn chan struct{}
	// follower is where reading the store has come to; it is the holder of turn's.
	follower follower

	mu   sync.Mutex
	next *round // who waits for the next turn
	done bool   // Close was called

	working atomic.Bool
	work    sync.WaitGroup
	ctx     context.Context //nolint:containedctx // it ends the goroutine, whichever call started it
	end     context.CancelFunc
}

// New returns a Service. It does not yet talk to the store.
func New(cfg Config) (*Service, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("keys: no store")
	case cfg.Freshness < 0 || cfg.Freshness > maxFreshness:
		return nil, fmt.Errorf("keys: freshness %s is not within 0 and %s", cfg.Freshness, maxFreshness)
	case cfg.Staleness < 0:
		return nil, fmt.Errorf("keys: staleness %s is negative", cfg.Staleness)
	case cfg.Timeout < 0:
		return nil, fmt.Errorf("keys: timeout %s is negative", cfg.Timeout)
	}
	s := &Service{
		store:     cfg.Store,
		freshness: cmp.Or(cfg.Freshness, defaultFreshness),
		staleness: cmp.Or(cfg.Staleness, defaultStaleness),
		timeout:   cmp.Or(cfg.Timeout, defaultTimeout),
		logger:    cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		clock:     cfg.Clock,
		random:    cfg.Random,
		turn:      make(chan struct{}, 1),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	s.base = s.clock()
	s.table.Store(newTable())
	s.view.Store(&view{asOf: never})
	s.next = newRound()
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Warm begins to read all keys, in the background. Authenticate does so by itself when it is
// first called; it looks keys up one by one until all are read.
func (s *Service) Warm() { s.kick() }

// Loaded reports whether all keys are read: an outage of the store fails no key then.
func (s *Service) Loaded() bool { return s.view.Load().whole }

// Close ends what reads the store in the background, and waits for it. Authenticate goes on
// to work, and asks the store itself.
func (s *Service) Close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}
