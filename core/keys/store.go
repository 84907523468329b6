package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// What a Store's methods answer besides their own failures.
var (
	// ErrNotFound is an id, or a name, that no key has.
	ErrNotFound = errors.New("no such key")
	// ErrExists is an id or a hash that is already taken.
	ErrExists = errors.New("key exists already")
)

// A Credential is a key and the hash of a secret that opens it. Several may belong
// to one key.
type Credential struct {
	Key  Key
	Hash [sha256.Size]byte
}

// A Store keeps keys and the hashes of their secrets, never a secret. Each method
// is atomic, durable when it returns, and safe for concurrent use by any number of
// goroutines and processes. Package core/store/storetest tests all of this.
type Store interface {
	// Create adds a key. ErrExists when its id or hash is taken.
	Create(ctx context.Context, key Key, hash [sha256.Size]byte) error
	// CreateFirst adds all of credentials if the store has never had a key, and
	// reports whether it did. Of any number of callers at once one gets true.
	CreateFirst(ctx context.Context, credentials []Credential) (bool, error)
	// List returns every key, revoked and expired ones too, the oldest first.
	List(ctx context.Context) ([]Key, error)
	// Live returns what is not revoked, in any order. Expired keys are among it:
	// whose clock counts is not the store's to say.
	Live(ctx context.Context) ([]Credential, error)
	// Revoke marks a key as revoked for good; a second time changes nothing, not
	// even the time. ErrNotFound when no key has the id.
	Revoke(ctx context.Context, id string, at time.Time) error
	// Version is a number that differs from all earlier ones as soon as anything
	// that List or Live returns has changed, by whichever process. It stands still
	// while nothing changes and is cheap to ask. It is never negative.
	Version(ctx context.Context) (int64, error)
}
