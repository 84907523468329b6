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
	// one for dead, and whoever ran the request knows better. An error that is ErrRefused
	// is of what one of the entries holds, any other of the store.
	Write(ctx context.Context, process int64, entries []*Entry) error
	// Beat says that a process is alive, and closes the open entries of processes that
	// have not said so since dead as Interrupted. It reports how many it closed.
	Beat(ctx context.Context, process int64, now, dead time.Time) (interrupted int64, err error)
	// End closes a process's open entries as Interrupted and reports how many.
	End(ctx context.Context, process int64) (interrupted int64, err error)
	// Entries walks over all entries that began at since or later, by process and
	// number. After an error there are no more.
	Entries(ctx context.Context, since time.Time) iter.Seq2[*Entry, error]
	// Left counts the open entries of processes that have not said that they are alive
	// since dead.
	Left(ctx context.Context, dead time.Time) (entries int64, err error)
	// Report sums the entries up, with what was pruned: a row for each combination of
	// the dimensions' values, in their order. Without dimensions it is one row, or none
	// where there are no entries.
	Report(ctx context.Context, query Query) ([]Row, error)
	// Spent sums up what entries cost that began on since's day, of UTC, or later, by key and
	// owner, in that order, without reading the entries. Not counted are those that are open
	// or interrupted, and what was pruned more than a month after. Whose cost is 0 may be
	// left out.
	Spent(ctx context.Context, since time.Time) ([]Spend, error)
	// Prune removes terminal entries that began before the day before is in, the oldest
	// first, and keeps their sums by day, key, owner, protocol, model, upstream and served
	// model. It removes count of them at once, and those that began with the last of
	// these, so that it keeps writers waiting for a moment only. It reports how many; 0 when none
	// are left.
	Prune(ctx context.Context, before time.Time, count int64) (pruned int64, err error)
}

// Spend is what the requests of a key cost while it had that owner, in nano-dollars.
type Spend struct {
	KeyID, Owner string
	Cost         int64
}

// Dimension is what a report has a row for each of.
type Dimension string

// The dimensions. Days are those of UTC in which requests began; models are those
// asked for, served models those that answered.
const (
	ByKey      Dimension = "key"
	ByOwner    Dimension = "owner"
	ByModel    Dimension = "model"
	ByDay      Dimension = "day"
	ByProtocol Dimension = "protocol"
	ByUpstream Dimension = "upstream"
	ByServed   Dimension = "served_model"
)

// Dimensions are all there are.
var Dimensions = []Dimension{ByKey, ByOwner, ByModel, ByDay, ByProtocol, ByUpstream, ByServed}

// Query says what a report is about.
type Query struct {
	// By is what to have rows for, each at most once.
	By []Dimension
	// Since is the earliest start of a request, Until what all began before; the zero
	// times bound nothing. Of what was pruned whole days are known: a day counts if its
	// beginning is in between.
	Since, Until time.Time
	// Pruned leaves out the entries: the report is of what was pruned alone.
	Pruned bool
}

// Row is one line of a report: how many requests, by outcome, and what they used.
type Row struct {
	// Values are those of the query's dimensions: the key's id, the owner, the model, the
	// day (2006-01-02), the protocol, the upstream; empty for requests that have none.
	Values                                             []string
	Requests, OK, Failed, Cancelled, Interrupted, Open int64
	Usage
	// Cost is in nano-dollars.
	Cost int64
	// Unpriced is how many requests used something that had no price.
	Unpriced int64
	// Estimated is how many requests have a usage that no upstream told, Rejected how many
	// of these because the upstream's figures cannot be true.
	Estimated, Rejected int64
}

// Add adds another row's figures. Sums of tokens and costs saturate.
func (r *Row) Add(other Row) {
	r.Requests += other.Requests
	r.OK += other.OK
	r.Failed += other.Failed
	r.Cancelled += other.Cancelled
	r.Interrupted += other.Interrupted
	r.Open += other.Open
	r.Usage.Add(other.Usage)
	sum(&r.Cost, other.Cost)
	r.Unpriced += other.Unpriced
	r.Estimated += other.Estimated
	r.Rejected += other.Rejected
}
