package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
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

// ErrAmbiguous is a name that several live keys share.
var ErrAmbiguous = errors.New("several keys have that name")

// A Service makes, lists, revokes and authenticates keys. It has no goroutine and
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

// CreateParams says which key to make.
type CreateParams struct {
	// Group is one of Groups.
	Group Group
	// Name is one printable line of at most 100 bytes, or empty.
	Name string
	// ExpireTime is when the key ends by itself, to the microsecond; nil is never.
	ExpireTime *time.Time
}

// Create makes a key. The raw key is returned here and can never be had again.
func (s *Service) Create(ctx context.Context, params CreateParams) (raw string, key Key, err error) {
	if _, err := ParseGroup(string(params.Group)); err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	if err := checkName(params.Name); err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	raw, credential, err := s.make(params)
	if err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	if err := s.store.Create(ctx, credential.Key, credential.Hash); err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	return raw, credential.Key, nil
}

// MintDefaults makes one key for each group, named default-GROUP, if the store has
// never had a key: the first start. Otherwise it makes none and first is false. Of
// several processes that start at once on one store, one is first.
func (s *Service) MintDefaults(ctx context.Context) (minted map[Group]string, first bool, err error) {
	minted = make(map[Group]string)
	var credentials []Credential
	for _, group := range Groups() {
		raw, credential, err := s.make(CreateParams{Group: group, Name: "default-" + string(group)})
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		minted[group] = raw
		credentials = append(credentials, credential)
	}
	first, err = s.store.CreateFirst(ctx, credentials)
	if err != nil {
		return nil, false, fmt.Errorf("mint the first keys: %w", err)
	}
	if !first {
		return nil, false, nil
	}
	return minted, true, nil
}

// make draws the secret and the id of a key.
func (s *Service) make(params CreateParams) (raw string, credential Credential, err error) {
	key := Key{Group: params.Group, Name: params.Name, CreateTime: stored(s.clock())}
	if params.ExpireTime != nil {
		expire := stored(*params.ExpireTime)
		if !expire.After(key.CreateTime) {
			return "", Credential{}, fmt.Errorf("expiry %s is in the past", expire.Format(time.RFC3339))
		}
		key.ExpireTime = &expire
	}
	if key.ID, err = newID(s.random); err != nil {
		return "", Credential{}, err
	}
	if raw, err = Generate(s.random); err != nil {
		return "", Credential{}, err
	}
	return raw, Credential{Key: key, Hash: Hash(raw)}, nil
}

// List returns every key, revoked and expired ones too, the oldest first.
func (s *Service) List(ctx context.Context) ([]Key, error) {
	list, err := s.store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// Revoke ends a key for good and returns it. ref is its id, or its name if only one
// key that is not revoked has it. A key that is revoked already, by its id, stays as
// it is and is no error. ErrNotFound or ErrAmbiguous otherwise. When Revoke returns,
// this Service refuses the key; others on the same store do within 2 seconds.
func (s *Service) Revoke(ctx context.Context, ref string) (Key, error) {
	if strings.HasPrefix(ref, Prefix) {
		return Key{}, errors.New("revoke key: that is a key; name it by its id or name, and take it out of your shell's history")
	}
	list, err := s.store.List(ctx)
	if err != nil {
		return Key{}, fmt.Errorf("revoke key: %w", err)
	}
	key, err := find(list, ref)
	if err != nil {
		return Key{}, fmt.Errorf("revoke key %q: %w", ref, err)
	}
	if key.RevokeTime == nil {
		at := stored(s.clock())
		if err := s.store.Revoke(ctx, key.ID, at); err != nil {
			return Key{}, fmt.Errorf("revoke key %s: %w", key.ID, err)
		}
		key.RevokeTime = &at
	}
	s.forget(key.ID)
	return key, nil
}

// find returns the key with that id, or the only live one of that name.
func find(list []Key, ref string) (Key, error) {
	var named []Key
	var ids []string
	for _, key := range list {
		if key.ID == ref {
			return key, nil
		}
		if key.Name == ref && ref != "" && key.RevokeTime == nil {
			named, ids = append(named, key), append(ids, key.ID)
		}
	}
	switch len(named) {
	case 0:
		return Key{}, ErrNotFound
	case 1:
		return named[0], nil
	default:
		return Key{}, fmt.Errorf("%w: %s", ErrAmbiguous, strings.Join(ids, ", "))
	}
}

// stored is t as every store can keep it.
func stored(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}
