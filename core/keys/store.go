package keys

import (
	"context"
	"errors"

	"github.com/genway/genway/core/audit"
)

// What a Store's methods answer besides their own failures.
var (
	// ErrNotFound is an id, or a name, that no key has.
	ErrNotFound = errors.New("no such key")
	// ErrExists is an id or a hash that is already taken.
	ErrExists = errors.New("key exists already")
)

// A NameTakenError is a name that another live key of the group has.
type NameTakenError struct {
	// Key is the id of the key that cannot have the name, By that of the key that has it.
	Key, By string
}

func (e *NameTakenError) Error() string { return "the name is taken: " + e.By + " has it" }

// A Store keeps keys and the hashes of their secrets, never a secret, and the record
// of what was changed. Each method is atomic, durable when it returns, and safe for
// concurrent use by any number of goroutines and processes: what it changes and the
// entries that tell of it are written in one transaction. Package
// core/store/storetest tests all of this.
//
// A key that is given or returned shares nothing with the store's.
type Store interface {
	// Create adds all of keys and appends changes, or does nothing. ErrExists when
	// an id or a hash is taken, a *NameTakenError when a key that is not revoked has the
	// same group and the same name, which may be one of keys; keys without a name share it.
	Create(ctx context.Context, keys []Key, changes []audit.Change) error
	// CreateFirst is Create if the store has never had a key, and reports whether
	// it did. Of any number of callers at once one gets true.
	CreateFirst(ctx context.Context, keys []Key, changes []audit.Change) (bool, error)
	// Update has change alter the key of that id, writes all of it but its id,
	// group and time of creation, and appends what change gives. No other change of
	// the key comes in between. Nothing is written where change gives no entries,
	// or an error, which is returned as it is. change may run more than once, and
	// must not use the store. ErrNotFound when no key has the id, a *NameTakenError when
	// it is given a name as Create refuses it; names that are the same already stay.
	Update(ctx context.Context, id string, change func(*Key) ([]audit.Change, error)) error
	// Find returns the key of that id and the keys of that name, in List's order.
	Find(ctx context.Context, ref string) ([]Key, error)
	// List returns every key, revoked and expired ones too, the oldest first; of
	// the same age, by id.
	List(ctx context.Context) ([]Key, error)
	// Live returns what is not revoked, in any order. Expired keys and secrets are
	// among it: whose clock counts is not the store's to say.
	Live(ctx context.Context) ([]Key, error)
	// Version is a number that differs from all earlier ones as soon as anything
	// that List or Live returns has changed, by whichever process. It stands still
	// while nothing changes and is cheap to ask. It is never negative.
	Version(ctx context.Context) (int64, error)
}
