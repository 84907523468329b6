package keys

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// Config is what a Service is made of. Only Store must be set.
type Config struct {
	// Store keeps the keys.
	Store Store
	// Freshness is how old the view of the store may be by which a key is
	// accepted, and so how late a revocation by another process can take effect.
	// Default 500 ms, at most one second: the promise is two, and the rest is for
	// asking the store.
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
	defaultStaleness = time.Minute
	defaultTimeout   = time.Second
)

// A Service makes, lists, changes, revokes and authenticates keys. What it changes
// it has recorded with the actor of the context (audit.WithActor). It has no goroutine and
// nothing to close: see Authenticate. It is safe for concurrent use.
type Service struct {
	store     Store
	freshness time.Duration
	staleness time.Duration
	timeout   time.Duration
	logger    *slog.Logger
	clock     func() time.Time
	random    io.Reader

	// view is what Authenticate answers from; never nil, and replaced only by the
	// holder of turn.
	view atomic.Pointer[view]
	// turn is held by the one caller that asks the store for all.
	turn chan struct{}
	// checks counts how often the store has begun to be asked.
	checks atomic.Uint64
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
	s.view.Store(&view{version: noVersion})
	return s, nil
}
