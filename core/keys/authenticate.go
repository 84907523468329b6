package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"
)

// What Authenticate answers instead of a principal; there is nothing else.
var (
	// ErrWrongKey is a key that is mistyped, unknown, revoked or expired: one and
	// the same value, so that nobody learns which.
	ErrWrongKey = errors.New("wrong key")
	// ErrUnavailable is wrapped around the reason why nobody can tell right now:
	// the store does not answer, or the caller's context ended first. It never
	// means that the key is wrong.
	ErrUnavailable = errors.New("keys cannot be checked")
)

// noVersion is a version no store has.
const noVersion = -1

// A view is all live keys as the store had them at one moment. It never changes.
type view struct {
	entries map[[sha256.Size]byte]entry
	// version is the store's version of entries, or noVersion.
	version int64
	// asOf is when the last successful check began: what the store had committed
	// by then is in entries.
	asOf time.Time
	// due is when the next check is.
	due time.Time
	// err is why the last check failed; nil when it did not.
	err error
}

type entry struct {
	principal Principal
	// expire is zero for never.
	expire time.Time
}

// Authenticate returns who holds the key raw, or ErrWrongKey, or ErrUnavailable.
//
// It answers from a view in memory of all live keys by hash: a known key costs no
// allocation and no store, and neither do typos, by their checksum. A map lookup is
// no timing oracle here, since a caller cannot steer the SHA-256 of what he sends.
//
// The view is checked against the store's version, and loaded anew where that has
// moved, at two occasions:
//
//   - a key is found and the view is older than Config.Freshness. So whoever
//     revokes a key, in whichever process, it is refused from then on.
//   - a key is not found. So a new key works at once, wherever it was made. One
//     check serves all who wait for it, and each waits for one that began after it
//     came: however many wrong keys arrive, the store sees one small question at a
//     time and memory does not grow.
//
// Checking on use, instead of by a goroutine that polls, has nothing to start and
// to end, costs nothing at rest, and holds its bound after a pause of the process.
// The whole set is kept, instead of a cache of lookups, because then an outage of
// the store fails no known key.
//
// While the store fails, known keys are served for Config.Staleness after its last
// answer. Once every Freshness one caller asks it again; the others do not wait.
func (s *Service) Authenticate(ctx context.Context, raw string) (Principal, error) {
	if Valid(raw) != nil {
		return Principal{}, ErrWrongKey
	}
	hash := Hash(raw)
	now := s.clock()
	v := s.view.Load()
	if now.Before(v.due) {
		if principal, ok := v.find(hash, now); ok {
			return principal, nil
		}
		if v.err != nil {
			return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, v.err)
		}
	}
	v, err := s.refresh(ctx)
	if err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if principal, ok := v.find(hash, s.clock()); ok {
		return principal, nil
	}
	if v.err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, v.err)
	}
	return Principal{}, ErrWrongKey
}

// find returns the holder of the key with that hash, unless it has expired.
func (v *view) find(hash [sha256.Size]byte, now time.Time) (Principal, bool) {
	e, ok := v.entries[hash]
	if !ok || !e.expire.IsZero() && !now.Before(e.expire) {
		return Principal{}, false
	}
	return e.principal, true
}

// refresh returns the view of a check that began after the call. The error is the
// context's; a check that failed is in the view.
func (s *Service) refresh(ctx context.Context) (*view, error) {
	begun := s.checks.Load()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the key store: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	if s.checks.Load() == begun {
		s.check(ctx)
	}
	return s.view.Load(), nil
}

// check asks the store once and replaces the view. The caller holds turn, and its
// context does not end the check: others wait for the result.
func (s *Service) check(ctx context.Context) {
	s.checks.Add(1)
	last := s.view.Load()
	began := s.clock()
	if last.err != nil {
		// The store is failing and may well take all of Timeout again: meanwhile
		// the others go on with what is known.
		meanwhile := *last
		meanwhile.due = began.Add(s.timeout)
		s.view.Store(&meanwhile)
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	next, err := s.load(ctx, last)
	if err == nil {
		next.asOf, next.due, next.err = began, began.Add(s.freshness), nil
		if last.err != nil {
			s.logger.LogAttrs(ctx, slog.LevelInfo, "key store answers again")
		}
		s.view.Store(&next)
		return
	}

	next = *last
	next.due, next.err = s.clock().Add(s.freshness), err
	if began.Sub(last.asOf) >= s.staleness {
		next.entries, next.version = nil, noVersion
	}
	if last.err == nil {
		s.logger.LogAttrs(ctx, slog.LevelError, "key store does not answer: serving the keys known so far",
			slog.Float64("for_seconds", s.staleness.Seconds()), slog.Any("error", err))
	}
	s.view.Store(&next)
}

// load returns last if the store's version is still the same, and otherwise a view
// of what it has now. The version is read before the keys: should they change in
// between, the view is newer than it says and the next check loads it once more,
// where the other order would miss the change for good.
func (s *Service) load(ctx context.Context, last *view) (view, error) {
	version, err := s.store.Version(ctx)
	if err != nil {
		return view{}, fmt.Errorf("read the version of the keys: %w", err)
	}
	if version == last.version {
		return *last, nil
	}
	live, err := s.store.Live(ctx)
	if err != nil {
		return view{}, fmt.Errorf("read the keys: %w", err)
	}
	next := view{version: version, entries: make(map[[sha256.Size]byte]entry, len(live))}
	for _, key := range live {
		policy := key.Policy
		principal := Principal{KeyID: key.ID, Group: key.Group, Name: key.Name, Owner: key.Owner, Policy: &policy}
		for _, secret := range key.Secrets {
			next.entries[secret.Hash] = entry{principal: principal, expire: earlier(key.ExpireTime, secret.ExpireTime)}
		}
	}
	return next, nil
}

// earlier is the first of two ends; zero where there is none.
func earlier(a, b *time.Time) time.Time {
	switch {
	case a == nil && b == nil:
		return time.Time{}
	case a == nil || b != nil && b.Before(*a):
		return *b
	}
	return *a
}

// outdate has the next call ask the store, and takes out of the view what is gone for
// good, without asking: the store may have failed since. No check can bring that
// back: one that began before the change has ended when the turn is ours.
func (s *Service) outdate(gone func(hash [sha256.Size]byte, e entry) bool) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	next := *s.view.Load()
	next.entries = maps.Clone(next.entries)
	maps.DeleteFunc(next.entries, gone)
	next.due = time.Time{}
	s.view.Store(&next)
}
