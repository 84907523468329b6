package ledger

import (
	"context"
	"iter"
	"time"
)

// A Store keeps entries. Each method is atomic and safe for concurrent use by any
// number of goroutines and processes. Package core/store/storetest tests all of this.
//
// An entry is known by its process and its number, so that writing it again changes
// nothing: a write whose outcome is not known may be repeated.
type Store interface {
	// Begin makes the number of a process that will write.
	Begin(ctx context.Context, now time.Time) (process int64, err error)
	// Write adds the entries that are new and closes those that are open. What is
	// closed stays as it is, but for Interrupted: another process may have taken this
	// one for dead, and whoever ran the request knows better.
	Write(ctx context.Context, process int64, entries []*Entry) error
	// Beat says that a process is alive, and closes the open entries of processes that
	// have not said so since dead as Interrupted. It reports how many it closed.
	Beat(ctx context.Context, process int64, now, dead time.Time) (interrupted int64, err error)
	// End closes a process's open entries as Interrupted and reports how many.
	End(ctx context.Context, process int64) (interrupted int64, err error)
	// Entries walks over all entries that began at since or later, by process and
	// number. After an error there are no more.
	Entries(ctx context.Context, since time.Time) iter.Seq2[*Entry, error]
	// Report sums the entries up, a row for each value of the dimension, in order.
	Report(ctx context.Context, query Query) ([]Row, error)
	// Spent sums up what terminal entries that began at since or later cost, by key and
	// owner, in that order. Whose cost is 0 may be left out.
	Spent(ctx context.Context, since time.Time) ([]Spend, error)
}

// Spend is what the requests of a key cost while it had that owner, in nano-dollars.
type Spend struct {
	KeyID, Owner string
	Cost         int64
}

// Dimension is what a report has a row for each of.
type Dimension string

// The dimensions. Days are those of UTC in which requests began; models are those
// asked for.
const (
	ByKey      Dimension = "key"
	ByModel    Dimension = "model"
	ByDay      Dimension = "day"
	ByProtocol Dimension = "protocol"
	ByUpstream Dimension = "upstream"
)

// Query says what a report is about.
type Query struct {
	By Dimension
	// Since is the earliest start of a request; the zero time is the ledger's.
	Since time.Time
}

// Row is one line of a report: how many requests, by outcome, and what they used.
type Row struct {
	// Value is the key's id, the model, the day (2006-01-02), the protocol or the
	// upstream; empty for requests that have none.
	Value                                              string
	Requests, OK, Failed, Cancelled, Interrupted, Open int64
	Usage
}
