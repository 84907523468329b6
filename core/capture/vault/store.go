// Package vault keeps captured bodies: off the path of requests, in bounded memory, encrypted
// where the operator has given a key, and for a while. What cannot be kept is dropped and counted:
// no call waits for it or fails of it.
//
// It must not import a database, grpc or net/http.
package vault

import (
	"context"
	"time"

	"github.com/genway/genway/core/audit"
)

// Row is the bodies of one request as a Store has them.
type Row struct {
	// Process and Number name the request's entry in the ledger.
	Process, Number int64
	// KeyID is the key that made the request, Start when it began.
	KeyID string
	Start time.Time
	// Expires is when the row is removed.
	Expires time.Time
	// SealedBy is the name of the key that the bodies are encrypted by; empty is in clear.
	SealedBy string
	// Content is what Vault makes of the bodies.
	Content []byte
}

// Selection names rows. Exactly one member is set.
type Selection struct {
	// Process and Number are one request's.
	Process, Number int64
	// KeyID is all of one key's.
	KeyID string
	// Before is all that expired before.
	Before time.Time
	// All is all there are.
	All bool
}

// Store keeps rows. core/store implements it; package storetest says what it promises.
type Store interface {
	// Put inserts rows, all or none. A row of a request that has one is replaced.
	Put(ctx context.Context, rows []Row) error
	// Get returns the row of a request, expired or not, once the audit has the reading of it; nil
	// for none, of which the audit has nothing.
	Get(ctx context.Context, process, number int64, reading audit.Change) (*Row, error)
	// Has reports whether a request has a row, without reading it.
	Has(ctx context.Context, process, number int64) (bool, error)
	// Delete removes at most count of the rows that are selected, the oldest first, and reports how
	// many. The audit gets the changes with it, also where there is no row.
	Delete(ctx context.Context, which Selection, count int, changes ...audit.Change) (int64, error)
}
