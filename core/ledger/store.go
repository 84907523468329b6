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
	// one for dead, and the process that ran the request knows better. An error that is ErrRefused
	// is of what one of the entries holds, any other of the store.
	Write(ctx context.Context, process int64, entries []*Entry) error
	// Beat records a heartbeat of a process and what it is, and closes as Interrupted the open
	// entries of processes without a heartbeat since dead. It reports how many it closed.
	Beat(ctx context.Context, process int64, node Node, now, dead time.Time) (interrupted int64, err error)
	// Processes returns those with a heartbeat since a time, at most the 1000 that began last, by
	// number.
	Processes(ctx context.Context, since time.Time) ([]Process, error)
	// End closes a process's open entries as Interrupted and reports how many.
	End(ctx context.Context, process int64) (interrupted int64, err error)
	// Entries walks over all entries that began at since or later, by process and
	// number. After an error there are no more.
	Entries(ctx context.Context, since time.Time) iter.Seq2[*Entry, error]
	// View runs do on one state of the store, which writers do not change meanwhile. What it
	// reads is read in one piece: a part of the ledger, not all of it.
	View(ctx context.Context, do func(View) error) error
	// Left counts the open entries of processes without a heartbeat since dead.
	Left(ctx context.Context, dead time.Time) (entries int64, err error)
	// Report sums the entries up, with what was pruned: a row for each combination of
	// the dimensions' values, in their order. Without dimensions it is one row, or none
	// where there are no entries.
	Report(ctx context.Context, query Query) ([]Row, error)
	// Spent sums up what entries cost that began on since's day, of UTC, or later, by key,
	// owner and process, in that order, without reading the entries: those of one key, of one owner if
	// keyID is empty, of all if both are. The time that one takes does not grow with the number of others. Not counted are
	// entries that are open or interrupted, and what was pruned more than a month after. Rows whose cost is 0 may be
	// left out.
	Spent(ctx context.Context, since time.Time, keyID, owner string) ([]Spend, error)
	// Prune removes terminal entries that began before the day before is in, the oldest
	// first, and keeps their sums by day, key, owner, protocol, model, upstream and served
	// model. It removes count of them at once, and those that began with the last of
	// these, so that it keeps writers waiting for a moment only; of a store with partitions, whole days as
	// well. It reports how many; 0 when none are left.
	Prune(ctx context.Context, before time.Time, count int64) (pruned int64, err error)
	// Roll sums up the entries of an hour or a day that ended before, once, so that reports
	// need not read them: reports say the same before and after, and while it runs. Entries
	// may be written meanwhile and later. It reports whether there was something to do, and is
	// called again until there is not.
	Roll(ctx context.Context, before time.Time) (done bool, err error)
	// Leads reports whether a process is the one that calls Roll: the first of those with a
	// heartbeat since dead. There may be two or none for a moment.
	Leads(ctx context.Context, process int64, dead time.Time) (bool, error)
}

// A View is one state of a Store.
type View interface {
	// Next is the first moment at since or later of which the store has anything: an entry,
	// sums that reports are made of, or, for its whole day, what was pruned. The zero time is
	// before all, and is given where there is nothing.
	Next(ctx context.Context, since time.Time) (time.Time, error)
	// Walk walks over the entries that began at since or later, before until, in the order in
	// which they began. After an error there are no more.
	Walk(ctx context.Context, since, until time.Time) iter.Seq2[*Entry, error]
	// Rolled returns the sums that reports of a day, of UTC, are made of instead of its entries.
	Rolled(ctx context.Context, day time.Time) ([]Rolled, error)
	// Report is that of the Store.
	Report(ctx context.Context, query Query) ([]Row, error)
}

// Rolled are the sums of the entries that are closed, of an hour or a day.
type Rolled struct {
	Start  time.Time
	Length time.Duration
	// By are the dimensions that there is a row for each combination of.
	By   []Dimension
	Rows []Row
}

// Spend is what the requests of a key cost that one process served while the key had that owner, in nano-dollars.
type Spend struct {
	// Process is the name of the process: see ProcessName.
	Process      string
	KeyID, Owner string
	Cost         int64
}

// Dimension is what a report has a row for each of.
type Dimension string

// The dimensions. Days and hours are those of UTC in which requests began; models are those
// asked for, served models those that answered. Of what was pruned no hour is known: its value by
// hour is the day's.
const (
	ByKey      Dimension = "key"
	ByOwner    Dimension = "owner"
	ByModel    Dimension = "model"
	ByDay      Dimension = "day"
	ByHour     Dimension = "hour"
	ByProtocol Dimension = "protocol"
	ByUpstream Dimension = "upstream"
	ByServed   Dimension = "served_model"
)

// Dimensions are all there are but ByHour, which is ByDay in more detail.
var Dimensions = []Dimension{ByKey, ByOwner, ByModel, ByDay, ByProtocol, ByUpstream, ByServed}

// HourLayout is how values by hour are written, as of package time: 2026-03-01T13.
const HourLayout = "2006-01-02T15"

// Of is an entry's value of the dimension; empty for a dimension that there is not.
func (d Dimension) Of(e *Entry) string {
	switch d {
	case ByKey:
		return e.KeyID
	case ByOwner:
		return e.Owner
	case ByModel:
		return e.Request.Model
	case ByDay:
		return e.Start.UTC().Format(time.DateOnly)
	case ByHour:
		return e.Start.UTC().Format(HourLayout)
	case ByProtocol:
		return e.Protocol
	case ByUpstream:
		return e.Upstream
	case ByServed:
		return e.Result.Model
	}
	return ""
}

// Query says what a report is about.
type Query struct {
	// By is what to have rows for, each at most once.
	By []Dimension
	// Since is the earliest start of a request, Until what all began before; the zero
	// times bound nothing. Of what was pruned whole days are known: a day counts if its
	// beginning is in between.
	Since, Until time.Time
	// Pruned leaves out the entries: the report is only of what was pruned.
	Pruned bool
	// Limit, unless 0, is how many rows there are at most: the first.
	Limit int
}

// Row is one line of a report: how many requests, by outcome, and what they used.
type Row struct {
	// Values are those of the query's dimensions: the key's id, the owner, the model, the
	// day (2006-01-02), the hour (2006-01-02T15), the protocol, the upstream; empty for requests that have none.
	Values                                             []string
	Requests, OK, Failed, Cancelled, Interrupted, Open int64
	Usage
	// Cost is in nano-dollars.
	Cost int64
	// Unpriced is how many requests used something that had no price.
	Unpriced int64
	// Estimated is how many requests have a usage that no upstream reported, Rejected how many
	// of these because the upstream's figures cannot be true.
	Estimated, Rejected int64
	FirstEvents         FirstEvents
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
	r.FirstEvents.Add(other.FirstEvents)
}

// RowOf is what one entry adds to a report, without values.
func RowOf(e *Entry) Row {
	r := Row{Requests: 1, Usage: e.Usage, Cost: e.Cost, FirstEvents: firstEvents(e)}
	switch e.Outcome {
	case OK:
		r.OK = 1
	case Failed:
		r.Failed = 1
	case Cancelled:
		r.Cancelled = 1
	case Interrupted:
		r.Interrupted = 1
	case Open:
		r.Open = 1
	}
	if e.IsUnpriced() {
		r.Unpriced = 1
	}
	if e.UsageSource != Reported {
		r.Estimated = 1
	}
	if e.UsageSource == Rejected {
		r.Rejected = 1
	}
	return r
}
