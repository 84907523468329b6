// Package store keeps what Genway must not forget, in a database that is opened
// with one call and brings its own schema: SQLite, in one file of the data
// directory.
//
// Each kind of record has its interface in the package whose noun it is
// (core/keys.Store); a driver implements them all and is held to them by package
// storetest. The migrations are embedded and run as the database is opened.
//
// The package must not import codec, gateway, grpc or net/http, and decides
// nothing: what a record means is its owner's business.
package store

import (
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
)

// A Store is an open database. It is safe for concurrent use.
type Store interface {
	// Keys keeps the callers' keys.
	Keys() keys.Store
	// Ledger keeps the entries of requests.
	Ledger() ledger.Store
	// Close ends what is running and closes the database. Every use after it fails.
	Close() error
}

var _ Store = (*SQLite)(nil)
