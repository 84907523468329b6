// Package keys manages the callers' API keys: how one is written,
// which group it serves, who holds it, what it may do, and whether it is good right
// now.
//
// A key is shown once, when it is made. From then on only its SHA-256 is kept and
// only its id (key_…) is named: in lists, logs, errors and rows.
//
// The package is only the domain: it reaches its Store through an interface and
// must not import database/sql, a driver, grpc, net/http, codec or gateway.
package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/genway/genway/core/audit"
)

const (
	// idPrefix begins every key's id.
	idPrefix = "key_"
	// idLength is how many base62 characters follow: 71 bits, so that ids made
	// apart do not meet.
	idLength = 12
)

// A Key is what is known of a key once it is made: everything but its raw form.
//
// All times are UTC in whole microseconds, which every store keeps exactly.
type Key struct {
	// ID names the key wherever it must be named: key_ and 12 base62 characters.
	ID string
	// Group is what the key serves, one group or several. It never changes.
	Group Group
	// Settings are the operator's, who may change them.
	Settings
	// CreateTime is when the key was made.
	CreateTime time.Time
	// RevokeTime is when the key was revoked; nil is not.
	RevokeTime *time.Time
	// Secrets are one, and after a rotation the one before it as well: the newest
	// first, which has no end of its own. The other has one.
	Secrets []Secret
}

// A Secret is one way to show a key: what is kept of it.
type Secret struct {
	// Hash is the SHA-256 of the raw key, and all that is kept of it.
	Hash [sha256.Size]byte
	// CreateTime is when it was made.
	CreateTime time.Time
	// ExpireTime is the first moment at which it is refused; nil leaves that to the
	// key's.
	ExpireTime *time.Time
}

// Expired reports whether the key has ended by itself at that moment.
func (k Key) Expired(now time.Time) bool {
	return k.ExpireTime != nil && !now.Before(*k.ExpireTime)
}

// Clone returns a copy that shares nothing with the key.
func (k Key) Clone() Key {
	k.Settings = k.Settings.Clone()
	k.RevokeTime = cloned(k.RevokeTime)
	k.Secrets = slices.Clone(k.Secrets)
	for i := range k.Secrets {
		k.Secrets[i].ExpireTime = cloned(k.Secrets[i].ExpireTime)
	}
	return k
}

// Settings are the parts of a key that an operator sets, and may change as long as it is not
// revoked. Validate says what each may be.
type Settings struct {
	// Name is the operator's word for the key. It may be empty, and two keys may
	// share one.
	Name string
	// Owner is who the key was given to: a person, a team, a customer. It may be
	// empty. Limits and reports go by it.
	Owner string
	// Labels are the operator's own words for the key.
	Labels map[string]string
	// ExpireTime is the first moment at which the key is refused; nil is never.
	ExpireTime *time.Time
	// Policy is what the key may do.
	Policy Policy
}

// Clone returns a copy that shares nothing with the settings.
func (s Settings) Clone() Settings {
	s.Labels = maps.Clone(s.Labels)
	s.ExpireTime = cloned(s.ExpireTime)
	s.Policy.Models = slices.Clone(s.Policy.Models)
	s.Policy.Addresses = slices.Clone(s.Policy.Addresses)
	s.Policy.Certificates = slices.Clone(s.Policy.Certificates)
	s.Policy.Limits.Budgets = slices.Clone(s.Policy.Limits.Budgets)
	s.Policy.Capture = s.Policy.Capture.Clone()
	return s
}

// normal returns the settings in the one form in which they are stored and compared:
// what is empty is nil, times are as stores keep them.
func (s Settings) normal() Settings {
	s = s.Clone()
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	if len(s.Policy.Models) == 0 {
		s.Policy.Models = nil
	}
	if len(s.Policy.Addresses) == 0 {
		s.Policy.Addresses = nil
	}
	if len(s.Policy.Certificates) == 0 {
		s.Policy.Certificates = nil
	}
	if len(s.Policy.Limits.Budgets) == 0 {
		s.Policy.Limits.Budgets = nil
	}
	if s.ExpireTime != nil {
		*s.ExpireTime = stored(*s.ExpireTime)
	}
	if s.Policy.Capture != nil {
		s.Policy.Capture.Until = stored(s.Policy.Capture.Until)
	}
	return s
}

// A Principal is an authenticated caller. It is cheap to copy.
type Principal struct {
	// KeyID is the id of the key that was shown.
	KeyID string
	// Group is what the key serves, one group or several.
	Group Group
	// Name is the key's name, possibly empty.
	Name string
	// Owner is the key's owner, possibly empty.
	Owner string
	// Policy is the key's: shared and never written to; Authenticate never returns nil.
	Policy *Policy
}

// newID makes an id from random.
func newID(random io.Reader) (string, error) {
	id, err := appendRandom([]byte(idPrefix), random, idLength)
	if err != nil {
		return "", fmt.Errorf("make a key id: %w", err)
	}
	return string(id), nil
}

// stored is t as every store can keep it.
func stored(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}

func cloned(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	c := *t
	return &c
}

// What a Store's methods answer besides their own failures.
var (
	// ErrNotFound is an id, or a name, that no key has.
	ErrNotFound = errors.New("no such key")
	// ErrExists is an id or a hash that is already taken.
	ErrExists = errors.New("key exists already")
)

// A NameTakenError is a name that another live key has that serves the same group.
type NameTakenError struct {
	// Key is the id of the key that cannot have the name, By the id of the key that has it.
	Key, By string
	// Index is which of the keys that were to be made Key is, from 0.
	Index int
}

func (e *NameTakenError) Error() string { return "the name is taken: " + e.By + " has it" }

// A Store keeps keys and the hashes of their secrets, never a secret, and the record
// of what was changed. Each method is atomic, durable when it returns, and safe for
// concurrent use by any number of goroutines and processes: what it changes and the
// entries that record it are written in one transaction. Package
// core/store/storetest tests all of this.
//
// A key that is given or returned shares nothing with the store's.
type Store interface {
	// Create adds all of keys and appends changes, or does nothing. ErrExists when
	// an id or a hash is taken, a *NameTakenError when a key that is not revoked has the
	// same name and serves the same group, alone or with others, which may be one of keys; keys
	// without a name share it.
	Create(ctx context.Context, keys []Key, changes []audit.Change) error
	// Import is Create of what batches yield, a part at a time, in one transaction: of no more
	// is anything in memory. It reads batches once at most, while no other change of keys
	// comes in between, and ends with the first error of theirs, which it returns as it is.
	// With dry it does all of it and keeps nothing.
	Import(ctx context.Context, batches iter.Seq2[Batch, error], dry bool) error
	// CreateFirst is Create if the store has never had a key, and reports whether
	// it did. Of any number of callers at once one gets true.
	CreateFirst(ctx context.Context, keys []Key, changes []audit.Change) (bool, error)
	// Update has change alter the key of that id, writes all of it but its id,
	// group and time of creation, and appends the entries that change returns. No other change of
	// the key comes in between. Nothing is written if change returns no entries,
	// or an error, which is returned as it is. change may run more than once, and
	// must not use the store. ErrNotFound when no key has the id, a *NameTakenError when
	// it is given a name as Create refuses it; names that are the same already stay.
	Update(ctx context.Context, id string, change func(*Key) ([]audit.Change, error)) error
	// Find returns the key of that id and the keys of that name, in List's order.
	Find(ctx context.Context, ref string) ([]Key, error)
	// List returns a page of keys, revoked and expired ones too, the oldest first; of
	// the same age, by id. ErrNotFound when query.After is no key's id.
	List(ctx context.Context, query Query) ([]Key, error)
	// Version is a number that grows with every change of what the methods of this
	// interface return, by whichever process. It stays the same while nothing changes and is
	// cheap to ask. It is never negative, and smaller than before only where the store was
	// put back to an earlier state.
	Version(ctx context.Context) (int64, error)
	// Changed returns up to limit secrets whose keys have changed after a position, in the
	// order of their last changes. A reader that reads until there are none has missed no
	// change up to the version of when it began: numbers become visible in their order.
	Changed(ctx context.Context, after Position, limit int) ([]Position, error)
	// Holders returns who holds these secrets, in any order; of keys that are revoked and
	// of secrets that no key has, nothing. It may return other secrets of the same keys.
	Holders(ctx context.Context, hashes []Digest) ([]Holder, error)
	// Holding returns who holds secrets, the oldest keys first, of up to limit keys after
	// a place, and the place of the last of them: the same place where there are no more.
	Holding(ctx context.Context, after Place, limit int) ([]Holder, Place, error)
}

// Batch is a part of the keys of an import, and what is recorded of them.
type Batch struct {
	Keys    []Key
	Changes []audit.Change
}

// Digest is the SHA-256 of a secret.
type Digest = [sha256.Size]byte

// Named is a name within a single group.
type Named struct {
	Group Group
	Name  string
}

// Query is which keys are listed.
type Query struct {
	// After is the id of the last key of the page before; empty is the start.
	After string
	// Limit is how many keys a page has at most. Above 0.
	Limit int
	// Group, a single one, and Owner, unless they are empty, select the keys of the page: those
	// that serve the group, alone or with others.
	Group Group
	Owner string
	// LiveAt, unless it is zero, leaves out keys that are revoked or have expired by then.
	LiveAt time.Time
}

// Position is a secret and the number of the last change of its key. The zero value is
// before all.
type Position struct {
	Number int64
	Hash   Digest
}

// Place is where a reader of all keys is. The zero value is before all.
type Place struct {
	CreateTime time.Time
	ID         string
}

// Holder is what Authenticate knows of a secret.
type Holder struct {
	Hash  Digest
	KeyID string
	Group Group
	Name  string
	Owner string
	// Policy is the key's in JSON, as Policy says: keys that are alike share it.
	Policy string
	// End is the first moment at which the secret is refused; nil is never.
	End *time.Time
}
