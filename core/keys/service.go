package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/audit"
)

// Config configures a Service. Only Store must be set.
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
	// Foreign are what keys begin with that another gateway made, of which the store has the
	// SHA-256 by an import: "sk-". Each is printable ASCII of at least 2 bytes. Such a key has no checksum, so a
	// mistyped one costs a question to the store. Default: none; only keys of our own are good.
	Foreign []string
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
	foreign   []string
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
	for _, prefix := range cfg.Foreign {
		if err := CheckForeign(prefix); err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
	}
	s := &Service{
		store:     cfg.Store,
		freshness: cmp.Or(cfg.Freshness, defaultFreshness),
		staleness: cmp.Or(cfg.Staleness, defaultStaleness),
		timeout:   cmp.Or(cfg.Timeout, defaultTimeout),
		foreign:   slices.Clone(cfg.Foreign),
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

// CreateParams says which key to make.
type CreateParams struct {
	// Group is one of Groups, or several, as ParseGroup takes them.
	Group Group
	Settings
	// Drawn, unless it is zero, is the id and the secret of the key, which the caller knows already: Created has no raw
	// key then.
	Drawn Drawn
}

// Drawn is a key that does not exist yet: its id, and the digest of its secret. A caller draws one (Draw) in order to put
// the secret where it is kept before the key is made: a key whose secret cannot be stored is lost.
type Drawn struct {
	ID     string
	Secret Digest
}

// Draw draws a key from random, which is crypto/rand.Reader outside of tests, and returns its secret raw. The error is the
// reader's.
func Draw(random io.Reader) (drawn Drawn, raw string, err error) {
	if drawn.ID, err = newID(random); err != nil {
		return Drawn{}, "", err
	}
	if raw, err = Generate(random); err != nil {
		return Drawn{}, "", err
	}
	drawn.Secret = Hash(raw)
	return drawn, raw, nil
}

// check refuses what Draw does not return.
func (d Drawn) check(v *violations) {
	if d == (Drawn{}) {
		return
	}
	if rest, ok := strings.CutPrefix(d.ID, idPrefix); !ok || len(rest) != idLength || strings.Trim(rest, base62) != "" {
		v.addf("key_id", "expected %s and %d letters or digits", idPrefix, idLength)
	}
	if d.Secret == (Digest{}) {
		v.addf("secret_sha256", "expected the SHA-256 of a key")
	}
}

// Check reports all that is wrong with p at a moment, as an *InvalidError. Whether the name is
// taken is for the store to know.
func (p CreateParams) Check(now time.Time) error {
	var v violations
	group, err := ParseGroup(string(p.Group))
	if err != nil {
		v.addf("group", "%v", err)
	}
	settings := p.normal()
	if err := settings.Validate(group); err != nil {
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			v = append(v, invalid.Fields...)
		}
	}
	checkExpiry(&v, settings.ExpireTime, now)
	checkCapture(&v, settings.Policy.Capture, now)
	p.Drawn.check(&v)
	return v.err()
}

// Created is a key that was just made.
type Created struct {
	// Raw is what is shown to authenticate. It can never be had again. Empty where the caller drew it.
	Raw string
	Key Key
}

// Create makes a key. The raw key is returned here and can never be had again. An
// *InvalidError says what is wrong with params; a name that a live key of the same
// group has is.
func (s *Service) Create(ctx context.Context, params CreateParams) (raw string, key Key, err error) {
	made, err := s.make(params)
	if err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	change, err := created(ctx, ActionCreate, made.Key)
	if err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	if err := s.store.Create(ctx, []Key{made.Key}, []audit.Change{change}); err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", invalidName(err, []Key{made.Key}))
	}
	return made.Raw, made.Key, nil
}

// invalidName makes an *InvalidError of a name that the store says is taken by another
// than one of list, and of an id or a secret that exists, which only a caller can have chosen; any other error stays as
// it is.
func invalidName(err error, list []Key) error {
	if errors.Is(err, ErrExists) {
		return &InvalidError{Fields: []FieldError{{Field: "key_id", Reason: "it, or the secret, exists already"}}}
	}
	taken, ok := errors.AsType[*NameTakenError](err)
	if !ok {
		return err
	}
	index := max(0, slices.IndexFunc(list, func(key Key) bool { return key.ID == taken.Key }))
	return &InvalidError{Index: index, Fields: []FieldError{{Field: "name", Reason: "it is taken: " + taken.By + " has it"}}}
}

// MintDefaults makes one key for each group that generates, named default-GROUP, if
// the store has never had a key: the first start. Otherwise it makes none and first
// is false. Of several processes that start at once on one store, one is first.
//
// deliver, unless nil, is given the keys before they are stored, if the store has none; an
// error of it stores nothing. It may be called although first is false in the end, when
// another process was first meanwhile.
//
// There is no default key of the group admin (case K11): an operator with access to the host's
// data makes one.
func (s *Service) MintDefaults(ctx context.Context, deliver func(minted map[Group]string) error) (minted map[Group]string, first bool, err error) {
	minted = make(map[Group]string)
	var list []Key
	var changes []audit.Change
	for _, group := range Groups() {
		if group == GroupAdmin {
			continue
		}
		made, err := s.make(CreateParams{Group: group, Settings: Settings{Name: "default-" + string(group)}})
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		change, err := created(ctx, ActionCreate, made.Key)
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		minted[group] = made.Raw
		list, changes = append(list, made.Key), append(changes, change)
	}
	if deliver != nil {
		known, err := s.store.List(ctx, Query{Limit: 1})
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		if len(known) > 0 {
			return nil, false, nil
		}
		if err := deliver(minted); err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
	}
	first, err = s.store.CreateFirst(ctx, list, changes)
	if err != nil {
		return nil, false, fmt.Errorf("mint the first keys: %w", err)
	}
	if !first {
		return nil, false, nil
	}
	return minted, true, nil
}

// make checks what is asked for and draws the secret and the id of a key.
func (s *Service) make(params CreateParams) (Created, error) {
	now := stored(s.clock())
	if err := params.Check(now); err != nil {
		return Created{}, err
	}
	group, err := ParseGroup(string(params.Group)) // in the one form in which it is stored
	if err != nil {
		return Created{}, err
	}
	key := Key{Group: group, Settings: params.normal(), CreateTime: now}
	drawn, raw := params.Drawn, ""
	if drawn == (Drawn{}) {
		if drawn, raw, err = Draw(s.random); err != nil {
			return Created{}, err
		}
	}
	key.ID, key.Secrets = drawn.ID, []Secret{{Hash: drawn.Secret, CreateTime: now}}
	return Created{Raw: raw, Key: key}, nil
}

var (
	// ErrAmbiguous is a name that several live keys share.
	ErrAmbiguous = errors.New("several keys have that name")
	// ErrRaw is a key in the place of its id or name.
	ErrRaw = errors.New("that is a key; name it by its id or name, and take it out of your shell's history")
	// ErrRevoked is a change of a key that is revoked: it stays as it is.
	ErrRevoked = errors.New("the key is revoked")
	// ErrExpired is a rotation of a key that has expired: its new secret would be
	// refused.
	ErrExpired = errors.New("the key has expired")
)

// MaxGrace is how long a secret can stay good after it was replaced.
const MaxGrace = 90 * 24 * time.Hour

// listPage is how many keys All reads at once.
const listPage = 1000

// List returns a page of keys, the oldest first. ErrNotFound when query.After is no key's id.
func (s *Service) List(ctx context.Context, query Query) ([]Key, error) {
	list, err := s.store.List(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// All yields every key that the query asks for, the oldest first, page by page: neither the
// keys are held in memory nor the store meanwhile. It ends with the first error.
func (s *Service) All(ctx context.Context, query Query) iter.Seq2[Key, error] {
	query.Limit = cmp.Or(query.Limit, listPage)
	return func(yield func(Key, error) bool) {
		for {
			page, err := s.List(ctx, query)
			if err != nil {
				yield(Key{}, err)
				return
			}
			for _, key := range page {
				if !yield(key, nil) {
					return
				}
			}
			if len(page) < query.Limit {
				return
			}
			query.After = page[len(page)-1].ID
		}
	}
}

// Get returns a key. ref is its id, or its name if only one key that is not revoked has
// it, or GROUP/NAME, which keys of other groups do not share. ErrNotFound or
// ErrAmbiguous otherwise, here and in all methods that take a ref.
func (s *Service) Get(ctx context.Context, ref string) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("find key %s: %w", quote(ref), err)
	}
	return key, nil
}

// Update has change alter the settings of a key and returns the key as it then is.
// An *InvalidError says what is wrong with them, and an error of change's is passed
// on; ErrRevoked when the key is revoked. A change that changes nothing is none.
//
// When Update returns, the next call on this Service goes by the new settings;
// others on the same store do within 2 seconds.
func (s *Service) Update(ctx context.Context, ref string, change func(*Settings) error) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("update key %s: %w", quote(ref), err)
	}
	now := stored(s.clock())
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		if k.RevokeTime != nil {
			return nil, ErrRevoked
		}
		before := k.Clone()
		if err := change(&k.Settings); err != nil {
			return nil, err
		}
		k.Settings = k.normal()
		key = k.Clone()
		if err := revalidate(before, *k, now); err != nil {
			return nil, err
		}
		entry, some, err := updated(ctx, before, *k, now)
		if err != nil || !some {
			return nil, err
		}
		return []audit.Change{entry}, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("update key %s: %w", key.ID, invalidName(err, []Key{key}))
	}
	s.changed(key.Secrets, key.Secrets)
	return key, nil
}

// revalidate checks changed settings. A key that has expired may keep its end, and so may its
// capturing.
func revalidate(before, after Key, now time.Time) error {
	var v violations
	if err := after.Validate(after.Group); err != nil {
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			v = invalid.Fields
		}
	}
	if before.ExpireTime == nil || after.ExpireTime == nil || !after.ExpireTime.Equal(*before.ExpireTime) {
		checkExpiry(&v, after.ExpireTime, now)
	}
	if was, is := before.Policy.Capture, after.Policy.Capture; was == nil || is == nil || !is.Until.Equal(was.Until) {
		checkCapture(&v, is, now)
	}
	return v.err()
}

// Rotation says how a key is rotated.
type Rotation struct {
	// Grace is how long the secret before stays good, up to MaxGrace; zero ends it at once.
	Grace time.Duration
	// Secret, unless it is zero, is the digest of the new secret, which the caller knows already (Draw): Created has no raw
	// key then.
	Secret Digest
	// Dry checks all as the rotation does, and changes nothing.
	Dry bool
	// Permit, unless it is nil, may refuse the rotation of a key that has these settings. Its error is returned as it is.
	Permit func(Settings) error
}

// Rotate replaces the secret of a key and returns the new one raw, this once. The one before
// stays good for the grace; one that was still good from a rotation before that ends now, so that at most two are.
// ErrRevoked or ErrExpired when the key is, and an *InvalidError for what is wrong with how.
func (s *Service) Rotate(ctx context.Context, ref string, how Rotation) (Created, error) {
	if how.Grace < 0 || how.Grace > MaxGrace {
		return Created{}, fmt.Errorf("rotate key: %w", &InvalidError{Fields: []FieldError{
			{Field: "grace", Reason: fmt.Sprintf("expected 0 to %s, got %s", MaxGrace, how.Grace)},
		}})
	}
	key, err := s.find(ctx, ref)
	if err != nil {
		return Created{}, fmt.Errorf("rotate key %s: %w", quote(ref), err)
	}
	secret, raw := how.Secret, ""
	if secret == (Digest{}) {
		if raw, err = Generate(s.random); err != nil {
			return Created{}, fmt.Errorf("rotate key %s: %w", key.ID, err)
		}
		secret = Hash(raw)
	}
	now := stored(s.clock())
	var before []Secret
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		switch {
		case k.RevokeTime != nil:
			return nil, ErrRevoked
		case k.Expired(now):
			return nil, ErrExpired
		}
		if how.Permit != nil {
			if err := how.Permit(k.Settings); err != nil {
				return nil, err
			}
		}
		if how.Dry {
			return nil, nil
		}
		if slices.ContainsFunc(k.Secrets, func(s Secret) bool { return s.Hash == secret }) {
			return nil, ErrExists
		}
		before = slices.Clone(k.Secrets)
		end := stored(now.Add(how.Grace))
		next := []Secret{{Hash: secret, CreateTime: now}}
		if how.Grace > 0 {
			next = append(next, Secret{Hash: k.Secrets[0].Hash, CreateTime: k.Secrets[0].CreateTime, ExpireTime: &end})
		}
		k.Secrets = next
		key = k.Clone()
		return []audit.Change{rotated(ctx, *k, now, end)}, nil
	})
	if errors.Is(err, ErrExists) {
		err = &InvalidError{Fields: []FieldError{{Field: "secret_sha256", Reason: "it exists already"}}}
	}
	if err != nil {
		return Created{}, fmt.Errorf("rotate key %s: %w", key.ID, err)
	}
	if how.Dry {
		return Created{Key: key}, nil
	}
	s.changed(before, key.Secrets)
	return Created{Raw: raw, Key: key}, nil
}

// Revoke ends a key for good, with all its secrets, and returns it. A key that is
// revoked already, by its id, stays as it is and is no error. When Revoke returns,
// this Service refuses the key; others on the same store do within 2 seconds.
func (s *Service) Revoke(ctx context.Context, ref string) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("revoke key %s: %w", quote(ref), err)
	}
	now := stored(s.clock())
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		defer func() { key = k.Clone() }()
		if k.RevokeTime != nil {
			return nil, nil
		}
		k.RevokeTime = &now
		return []audit.Change{{Time: now, Actor: audit.ActorOf(ctx), Action: ActionRevoke, Subject: k.ID}}, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("revoke key %s: %w", key.ID, err)
	}
	s.changed(key.Secrets, nil)
	return key, nil
}

// find returns the key with that id, or the only live one of that name, or of that name
// in the group that the ref names as well.
func (s *Service) find(ctx context.Context, ref string) (Key, error) {
	if strings.Contains(ref, Prefix) {
		return Key{}, ErrRaw
	}
	key, err := s.only(ctx, ref, "")
	if group, name, ok := strings.Cut(ref, "/"); ok && errors.Is(err, ErrNotFound) {
		if of, unknown := ParseGroup(group); unknown == nil {
			return s.only(ctx, name, of)
		}
	}
	return key, err
}

// only returns the key with that id, or the only live one of that name, in a group unless
// that is empty.
func (s *Service) only(ctx context.Context, ref string, group Group) (Key, error) {
	list, err := s.store.Find(ctx, ref)
	if err != nil {
		return Key{}, err
	}
	var named []Key
	var names []string
	for _, key := range list {
		if key.ID == ref && group == "" {
			return key, nil
		}
		if ref != "" && key.Name == ref && key.RevokeTime == nil && (group == "" || key.Group.Has(group)) {
			named, names = append(named, key), append(names, fmt.Sprintf("%s of %s", key.ID, key.Group))
		}
	}
	switch len(named) {
	case 0:
		return Key{}, ErrNotFound
	case 1:
		return named[0], nil
	default:
		return Key{}, fmt.Errorf("%w: %s; name it by its id, or as GROUP/NAME", ErrAmbiguous, strings.Join(names, ", "))
	}
}
