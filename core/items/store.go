package items

import (
	"context"
	"crypto/sha256"
	"time"
)

// Row is one item as a Store has it.
type Row struct {
	ID      [sha256.Size]byte
	Sealed  []byte
	Expires time.Time
}

// Store keeps rows. core/store implements it; package storetest says what it promises.
type Store interface {
	// Put inserts rows, all or none. A row that exists is replaced.
	Put(ctx context.Context, rows []Row) error
	// Get returns the rows of those identifiers that exist, expired or not, in any order.
	Get(ctx context.Context, ids [][sha256.Size]byte) ([]Row, error)
	// Expire removes at most count rows that expired before the time, and reports how many.
	Expire(ctx context.Context, before time.Time, count int) (int64, error)
}
