package keys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// What Authenticate answers instead of a principal; there is nothing else.
var (
	// ErrWrongKey is a key that is mistyped, unknown, revoked or expired: one and
	// the same value, so that a caller does not learn which.
	ErrWrongKey = errors.New("wrong key")
	// ErrUnavailable is wrapped around the reason why a key cannot be checked right now:
	// the store does not answer, the key's policy is one that this program cannot read, or
	// the caller's context ended first. It never means that the key is wrong.
	ErrUnavailable = errors.New("keys cannot be checked")
)

// A view is how the table compares with the store. It never changes. Its times are of
// Service.elapsed.
type view struct {
	// asOf is when the last look at the store began after which the table had every
	// change that was committed by then; never if there was none.
	asOf time.Duration
	// due is when the store is asked again.
	due time.Duration
	// whole says that all keys are in the table.
	whole bool
	// err is why the store was last asked in vain; nil when it answered.
	err error
}

// never is long before any time, and the check of a record that has to be compared with the
// store before it counts.
const never = math.MinInt64 / 2

// Authenticate returns who holds the key raw, or ErrWrongKey, or ErrUnavailable.
//
// It answers from a table in memory of all live keys by hash: a known key costs no
// allocation and no store, and neither do typos, by their checksum. A map lookup is
// no timing oracle here, since a caller cannot steer the SHA-256 of what it sends.
//
// The table follows the store by what has changed since it was last asked:
//
//   - A key is found and the store was asked Config.Freshness ago or earlier: it is asked
//     again, in the background. Only where the key was compared with it longer ago than
//     1.5 s does its caller wait. So a revoked key is refused within two seconds, whichever
//     process revoked it.
//   - A key is not found: its caller waits until the store was asked. So a new key works at
//     once, wherever it was made. One question serves all who wait for it, and each waits
//     for one that began after it came: however many wrong keys arrive, the store sees one
//     small question at a time and memory does not grow.
//
// While the table is not whole, after a start and while many changes are read, the same
// question looks the keys up that are waited for.
//
// Asking on use, instead of by a goroutine that polls, costs nothing at rest and holds its
// bound after a pause of the process. All keys are kept, instead of those that were used of
// late, because then an outage of the store fails no key, and a wrong key is known to be
// wrong without being looked up.
//
// While the store fails, known keys are served for Config.Staleness after its last
// answer, and no caller waits: it is asked again once every Freshness, in the background.
func (s *Service) Authenticate(ctx context.Context, raw string) (Principal, error) {
	if Valid(raw) != nil {
		return Principal{}, ErrWrongKey
	}
	hash := Hash(raw)
	now := s.clock()
	elapsed := now.Sub(s.base)
	v := s.view.Load()
	r := s.table.Load().find(&hash)
	if r != nil && !r.ended(now) {
		checked := time.Duration(r.checked.Load())
		age := elapsed - max(v.asOf, checked)
		if age >= s.freshness && elapsed >= v.due {
			s.kick()
		}
		switch compared := checked != never; {
		case compared && age < maxAge, v.err != nil && age < s.staleness && (compared || elapsed < v.due):
			return r.answer()
		}
	}
	if v.err != nil && elapsed < v.due {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, v.err)
	}
	return s.wait(ctx, hash)
}

// wait is Authenticate of a key that is compared with the store first.
func (s *Service) wait(ctx context.Context, hash Digest) (Principal, error) {
	asked, err := s.ask(ctx, hash)
	if err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	now := s.clock()
	r := s.table.Load().find(&hash)
	if r == nil || r.ended(now) {
		if asked.err != nil {
			return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, asked.err)
		}
		return Principal{}, ErrWrongKey
	}
	if asked.err != nil {
		age := now.Sub(s.base) - max(s.view.Load().asOf, time.Duration(r.checked.Load()))
		if age >= s.staleness {
			return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, asked.err)
		}
	}
	return r.answer()
}

// answer is Authenticate's for a key that is good.
func (r *record) answer() (Principal, error) {
	if r.policy.invalid != nil {
		return Principal{}, fmt.Errorf("%w: key %s: %w", ErrUnavailable, r.id(), r.policy.invalid)
	}
	return r.principal(), nil
}

// changed has a key that this service has changed compared with the store before it is
// accepted, and forgets those of its secrets that it has no more, without asking: the store
// may have failed since. No question to the store can bring them back: one that began before
// the change has ended when the turn is ours.
func (s *Service) changed(before, after []Secret) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	t := s.table.Load()
	for i := range before {
		hash := &before[i].Hash
		if !slices.ContainsFunc(after, func(kept Secret) bool { return kept.Hash == *hash }) {
			t.remove(hash)
		} else if r := t.find(hash); r != nil {
			r.checked.Store(never)
		}
	}
	next := *s.view.Load()
	next.due = never
	s.view.Store(&next)
}
